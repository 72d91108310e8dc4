package agent

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// busy is a store that many other jobs write to, a thousand times a second: its revision is another one whenever
// somebody looks, and a watch has to be asked how far it is.
type busy struct {
	store.Store
	began time.Time
	asked atomic.Int64 // how often it was asked for nothing but its revision
}

const aWay = 2 * time.Millisecond // to the store, and back

func (b *busy) others() int64 { return time.Since(b.began).Milliseconds() }

func (b *busy) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	if len(txn.Then)+len(txn.Read)+len(txn.Else) > 0 {
		return b.Store.Commit(ctx, txn)
	}
	b.asked.Add(1)
	select {
	case <-time.After(aWay):
	case <-ctx.Done():
	}
	res, err := b.Store.Commit(ctx, txn)
	res.Rev += b.others()
	return res, err
}

func (b *busy) Watch(ctx context.Context, selector string) store.Watcher {
	w := b.Store.Watch(ctx, selector)
	if selector != "" { // this is for leaders
		return w
	}
	return busyWatch{through(ctx, w, func(u *store.Update) bool {
		select {
		case <-time.After(aWay):
		case <-ctx.Done():
			return false
		}
		u.Rev += b.others()
		return true
	})}
}

type busyWatch struct{ *half }

func (b busyWatch) Sync(int64) { b.half.Sync(0) }

// TestOthersWriteToTheStore has a member fall silent while other jobs write to the same store: the leader decides when
// the member's time is over, and asks the store no more than now and then.
func TestOthersWriteToTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		b, way := &busy{Store: m.Connect(clock), began: time.Now()}, m.Connect(clock)
		spec := rendezvous.DefaultSpec(2)
		spec.MinNodes, spec.LastCall = 1, rendezvous.Duration(200*time.Millisecond)
		one := join(t, b, "node0", spec, nil)
		other := join(t, &busy{Store: way, began: time.Now()}, "node1", spec, nil)
		one.starts(0)
		other.starts(0)
		time.Sleep(time.Minute)
		before := b.asked.Load()
		way.Cut()
		began := time.Now()
		other.stops()
		one.stops()
		one.starts(1)
		took := time.Since(began)
		if took < rendezvous.DefaultFence || took > rendezvous.DefaultFence+DefaultLease+2*time.Second {
			t.Errorf("continued after %v", took)
		}
		// The node's half looks, too, once in the time of a renewal.
		if asked := b.asked.Load() - before; asked > 2*int64(took/time.Second) {
			t.Errorf("asked %d times in %v", asked, took)
		}
	})
}

// ahead is a store that has come further than what is known of it. It notes what is written.
type ahead struct {
	store.Store
	rev    int64
	writes int
}

func (a *ahead) Commit(_ context.Context, txn store.Txn) (store.Result, error) {
	if len(txn.Then) > 0 {
		a.writes++
	}
	return store.Result{OK: true, Rev: a.rev, Token: "s"}, nil
}

func (*ahead) Updates() <-chan store.Update { return nil }
func (*ahead) Sync(int64)                   {}

// TestNothingIsDecidedBeyondWhatIsProven: when the view has come to what the store had when it was asked, it is unknown
// what has happened since: a member whose time was not over then may be back.
func TestNothingIsDecidedBeyondWhatIsProven(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now, a := began, &ahead{rev: 10}
	member := func(name string) rendezvous.Member {
		return rendezvous.Member{Name: name, Incarnation: name + "#1", Slots: 1}
	}
	running := rendezvous.Node{V: 1, Store: "s", Incarnation: "b#1", RunUID: "u", Slots: 1, State: rendezvous.NodeRunning}
	l := &leader{
		Agent: &Agent{now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler)},
		store: a, watch: a, ctx: t.Context(), rows: map[string]store.KV{}, bad: map[string]string{}, seen: true,
	}
	l.view = rendezvous.View{
		Token: "s", Rev: 10,
		Job: &rendezvous.Job{
			V: 1, Store: "s", RunUID: "u", Phase: rendezvous.Running, NextRound: 1, Spec: rendezvous.DefaultSpec(2),
		},
		Round: &rendezvous.Round{
			V: 1, Store: "s", RunUID: "u", Fence: rendezvous.Duration(rendezvous.DefaultFence),
			Members: []rendezvous.Member{member("a"), member("b")},
		},
		Nodes: map[string]rendezvous.NodeEntry{"b": {Node: &running, Leased: true}},
	}
	decide := func(want int) {
		t.Helper()
		if _, err := l.decide(); err != nil {
			t.Fatal(err)
		}
		if a.writes != want {
			t.Fatalf("%d writes %v after it fell silent, want %d", a.writes, now.Sub(began), want)
		}
	}
	decide(0)
	now, a.rev = began.Add(rendezvous.DefaultFence-time.Millisecond), 20
	decide(0) // it asks
	now, l.view.Rev = now.Add(2*time.Millisecond), 20
	decide(0)
	a.rev = 30
	decide(0) // it asks again
	l.view.Rev = 30
	decide(1)
}

// TestWhatNobodyCouldReadIsNotWritten: a record that its own check refuses would stop the job for good.
func TestWhatNobodyCouldReadIsNotWritten(t *testing.T) {
	var log heard
	a := &ahead{}
	l := &leader{
		Agent: &Agent{now: time.Now, log: slog.New(slog.NewTextHandler(&log, nil))}, store: a, watch: a, ctx: t.Context(),
		rows: map[string]store.KV{}, bad: map[string]string{}, view: rendezvous.View{Token: "s"},
	}
	below := int64(-1)
	job := rendezvous.Job{
		V: 1, Store: "s", RunUID: "u", Phase: rendezvous.Running, NextRound: 1, Spec: rendezvous.DefaultSpec(2),
		Save: &rendezvous.Save{Kind: rendezvous.StopSuspend, Step: &below},
	}
	for want, step := range []*int64{&below, nil} {
		job.Save.Step = step
		for range 2 {
			d := rendezvous.Decision{Action: rendezvous.ActSave, Job: &job, DropRound: -1}
			if err := l.commit(d); err != nil || min(a.writes, 1) != want {
				t.Fatalf("%d writes, %v", a.writes, err)
			}
		}
	}
	if strings.Count(log.all(), "level=ERROR") != 1 || !log.has("save: step -1") {
		t.Errorf("it says %s", log.all())
	}
}

// TestWhatNoStoreTakesIsSaid has as many nodes as there may be, with names as long as they may be: the list of them is
// larger than a value may be, and the job would wait for ever without a word.
func TestWhatNoStoreTakesIsSaid(t *testing.T) {
	var log heard
	a := &ahead{}
	l := &leader{
		Agent: &Agent{now: time.Now, log: slog.New(slog.NewTextHandler(&log, nil))}, store: a, watch: a, ctx: t.Context(),
		rows: map[string]store.KV{}, bad: map[string]string{}, view: rendezvous.View{Token: "s"},
	}
	spec := rendezvous.DefaultSpec(4096)
	job := rendezvous.Job{V: 1, Store: "s", RunUID: "u", Phase: rendezvous.Running, NextRound: 1, Spec: spec}
	round := rendezvous.Round{V: 1, Store: "s", RunUID: "u", MasterAddr: "a", Fence: spec.Fence}
	round.Resume.Decision = rendezvous.ResumeFresh
	for i := range spec.MaxNodes {
		name := fmt.Sprintf("%0250d", i)
		round.Members = append(round.Members, rendezvous.Member{Name: name, Incarnation: name, Slots: 8})
	}
	for range 3 {
		d := rendezvous.Decision{Action: rendezvous.ActForm, Job: &job, Round: &round, DropRound: -1}
		if err := l.commit(d); err != nil || a.writes > 0 {
			t.Fatalf("%d writes, %v", a.writes, err)
		}
	}
	if strings.Count(log.all(), "level=ERROR") != 1 || !log.has("bytes, at most 1048576 are allowed") {
		t.Errorf("it says %.1000s", log.all())
	}
}
