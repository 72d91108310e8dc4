package agent

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// The tests run in bubbles, where time passes only while everybody waits for it: this is the clock there.
func clock() time.Duration { return time.Duration(time.Now().UnixNano()) }

// incarnations counts the nodes of all tests.
var incarnations atomic.Int64

// party is one node whose workers are simulated: it does what it is told and says so.
type party struct {
	*Agent
	t     *testing.T
	name  string
	round int
}

func join(t *testing.T, s store.Store, name string, spec rendezvous.Spec, change func(*Config)) *party {
	t.Helper()
	cfg := Config{
		Connect: func(context.Context) (store.Store, error) { return s, nil }, Name: name, Spec: spec, Clock: clock,
		StopTime: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Node: rendezvous.Node{
			Incarnation: fmt.Sprintf("%s#%d", name, incarnations.Add(1)), Slots: 2, Address: name,
		},
	}
	if testing.Verbose() {
		all := &slog.HandlerOptions{Level: slog.LevelDebug}
		cfg.Log = slog.New(slog.NewTextHandler(t.Output(), all)).With("node", name)
	}
	if change != nil {
		change(&cfg)
	}
	p := &party{Agent: Join(context.Background(), cfg), t: t, name: name, round: -1}
	t.Cleanup(p.Close)
	return p
}

// patience is longer than anything here is to take.
const patience = 5 * time.Minute

// next waits for the next order.
func (p *party) next() Order {
	p.t.Helper()
	select {
	case o := <-p.Orders():
		return o
	case <-time.After(patience):
		p.t.Fatalf("%s: no order", p.name)
	}
	return Order{}
}

// starts waits for the order to start and returns the round.
func (p *party) starts(number int) *Start {
	p.t.Helper()
	o := p.next()
	for o.Stop != nil && o.Stop.Round < number { // it crossed our word that nothing runs any more
		o = p.next()
	}
	if o.Start == nil || o.Start.Round.Number != number {
		p.t.Fatalf("%s: got %+v, want the start of round %d", p.name, describe(o), number)
	}
	if !p.MayStart() {
		p.t.Errorf("%s: the order to start comes too late", p.name)
	}
	p.round = number
	return o.Start
}

func (p *party) stops() {
	p.t.Helper()
	o := p.next()
	if o.Stop == nil || o.Stop.Round != p.round {
		p.t.Fatalf("%s: got %s, want the stop of round %d", p.name, describe(o), p.round)
	}
	p.Gone(p.round, rendezvous.Outcome{}, nil)
}

func (p *party) ends() *rendezvous.End {
	p.t.Helper()
	o := p.next()
	for o.Stop != nil && o.Stop.Round == p.round {
		o = p.next()
	}
	if o.End == nil {
		p.t.Fatalf("%s: got %s, want the end", p.name, describe(o))
	}
	p.Close()
	return o.End
}

func describe(o Order) string {
	switch {
	case o.Start != nil:
		return fmt.Sprintf("start of round %d", o.Start.Round.Number)
	case o.Slow != nil:
		return fmt.Sprintf("slow: %+v", *o.Slow)
	case o.Stop != nil:
		return fmt.Sprintf("stop of round %d: %s", o.Stop.Round, o.Stop.Why)
	}
	return fmt.Sprintf("end: %+v", o.End)
}

var (
	killed = rendezvous.Outcome{Verdict: exitcodes.Retry, Reason: "KilledBySIGKILL", Code: 137, Signal: 9, Role: "root"}
	broken = rendezvous.Outcome{
		Verdict: exitcodes.Fatal, Reason: "Error", Code: 1, Role: "root", Message: "rank 3: ValueError",
	}
	well = rendezvous.Outcome{Verdict: exitcodes.Success}
)

// parties are the nodes of a job.
type parties []*party

func gang(t *testing.T, m *store.InMemory, n int) parties {
	t.Helper()
	return gangOf(t, m, n, rendezvous.DefaultSpec(n), nil)
}

// gangOf is so many nodes of a job with this spec. Change, if not nil, has the last word on each.
func gangOf(t *testing.T, m *store.InMemory, n int, spec rendezvous.Spec, change func(i int, c *Config)) (g parties) {
	t.Helper()
	for i := range n {
		g = append(g, join(t, m.Connect(clock), fmt.Sprint("node", i), spec, func(c *Config) {
			if change != nil {
				change(i, c)
			}
		}))
	}
	return g
}

// start waits until all are told to start a round.
func (g parties) start(round int) {
	for _, p := range g {
		p.t.Helper()
		p.starts(round)
	}
}

// hearNothing is for a moment at which nobody may have been told anything.
func (g parties) hearNothing() {
	for _, p := range g {
		p.t.Helper()
		select {
		case o := <-p.Orders():
			p.t.Fatalf("%s: got %s", p.name, describe(o))
		default:
		}
	}
}

// fail has a worker of one of two nodes fail in a round, and the other one stop for it.
func (g parties) fail(which, round int) {
	g[which].t.Helper()
	g[which].Failing(round, killed, nil)
	g[which].Gone(round, killed, nil)
	g[1-which].stops()
}

// succeed ends the round, and so the job.
func (g parties) succeed(round int) {
	for _, p := range g {
		p.Gone(round, well, nil)
	}
	for _, p := range g {
		p.t.Helper()
		if e := p.ends(); e.Verdict != exitcodes.Success {
			p.t.Errorf("%s: %+v", p.name, *e)
		}
	}
}

func TestOneFailsAllStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 3)
		ranks := map[int]bool{}
		for _, p := range nodes {
			ranks[p.starts(0).Rank] = true
		}
		if len(ranks) != 3 {
			t.Errorf("ranks %v", ranks)
		}
		nodes[1].Failing(0, killed, nil)
		nodes[1].Gone(0, killed, nil)
		nodes[0].stops()
		nodes[2].stops()
		// The one that failed hears of the stop only if it was still running then.
		for _, p := range nodes {
			p.starts(1)
		}
		for _, p := range nodes {
			p.Gone(1, well, nil)
		}
		for _, p := range nodes {
			if e := p.ends(); e.Verdict != exitcodes.Success {
				t.Errorf("%s ends with %+v", p.name, e)
			}
		}
	})
}

func TestFatalEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 3)
		for _, p := range nodes {
			p.starts(0)
		}
		nodes[2].Failing(0, broken, nil)
		nodes[2].Gone(0, broken, nil)
		nodes[0].stops()
		nodes[1].stops()
		for _, p := range nodes {
			if e := p.ends(); e.Verdict != exitcodes.Fatal || e.Code != 1 || e.Cause == nil || e.Cause.Node != "node2" {
				t.Errorf("%s ends with %+v", p.name, e)
			}
		}
	})
}

// TestSaidBeforeTheStop is an echo, and a node that was stopped for it, of whose workers one had said before why it fails.
func TestSaidBeforeTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 3)
		for _, p := range nodes {
			p.starts(0)
		}
		echo := rendezvous.Outcome{Verdict: exitcodes.Retry, Reason: "PeerLost", Code: 210, Role: "cascade", Message: "it lost its peer"}
		nodes[2].Failing(0, echo, nil)
		nodes[2].Gone(0, echo, nil)
		nodes[0].stops()
		if o := nodes[1].next(); o.Stop == nil {
			t.Fatalf("got %s", describe(o))
		}
		nodes[1].Gone(0, rendezvous.Outcome{Rank: 1, Said: &rendezvous.Said{
			Verdict: exitcodes.Fatal, Code: 1, Reason: "CodeError", Rule: "code.syntax", Evidence: "KeyError: 'x'", Rank: 1,
		}}, nil)
		for _, p := range nodes {
			e := p.ends()
			if e.Verdict != exitcodes.Fatal || e.Code != 1 || e.Reason != "CodeError" || e.Cause == nil || e.Cause.Node != "node1" {
				t.Errorf("%s ends with %+v", p.name, e)
			}
		}
	})
}

// TestWhoIsBlamed: with the next round each node hears on which one the last has failed, and after a departure on none.
func TestWhoIsBlamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 2)
		nodes.start(0)
		nodes.fail(1, 0)
		for _, p := range nodes {
			if got := p.starts(1).Blamed; got != "node1" {
				t.Errorf("%s hears that it was %q", p.name, got)
			}
		}
		nodes.succeed(1)
	})
}

func TestOneNodeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 1)
		p := nodes[0]
		for round := range 3 {
			p.starts(round)
			if round < 2 {
				p.Failing(round, killed, nil)
				p.Gone(round, killed, nil)
			}
		}
		p.Gone(2, well, nil)
		p.ends()
	})
}

func TestLeavingNodeIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		nodes := gang(t, m, 2)
		rank := nodes[1].starts(0).Rank
		nodes[0].starts(0)
		nodes[1].Leave()
		if o := nodes[1].next(); o.Stop == nil {
			t.Fatalf("got %s", describe(o))
		}
		nodes[1].Gone(0, rendezvous.Outcome{Verdict: exitcodes.Preempted, Code: 143}, nil)
		if e := nodes[1].ends(); e.Verdict != exitcodes.Preempted {
			t.Errorf("%+v", e)
		}
		nodes[0].stops()
		s := m.Connect(clock)
		again := join(t, s, "node1", rendezvous.DefaultSpec(2), nil)
		if got := again.starts(1); got.Rank != rank || got.Blamed != "" {
			t.Errorf("the replacement has rank %d, not %d, and hears that it was %q", got.Rank, rank, got.Blamed)
		}
		nodes[0].starts(1)
		again.Gone(1, well, nil)
		nodes[0].Gone(1, well, nil)
		again.ends()
		nodes[0].ends()
	})
}

// TestTheTimesWithoutAStoreDoNotAddUp cuts a node off again and again, each time for less long than it waits for the
// store. It has no workers and nothing to write: only its lease tells that the store is there again.
func TestTheTimesWithoutAStoreDoNotAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		s := m.Connect(clock)
		impatient := func(c *Config) { c.StoreTimeout, c.Lease = 3*time.Second, time.Second }
		p := join(t, s, "node0", rendezvous.DefaultSpec(2), impatient)
		for range 4 {
			time.Sleep(2 * time.Second)
			s.Cut()
			time.Sleep(2 * time.Second)
			s.Heal()
		}
		time.Sleep(4 * time.Second)
		other := join(t, m.Connect(clock), "node1", rendezvous.DefaultSpec(2), impatient)
		p.starts(0)
		other.starts(0)
	})
}

// TestWorkersRunOnWithoutAStore cuts a node off for longer than it would wait for the store if it had no workers.
func TestWorkersRunOnWithoutAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		s := m.Connect(clock)
		p := join(t, s, "node0", rendezvous.DefaultSpec(1), func(c *Config) { c.StoreTimeout = 3 * time.Second })
		p.starts(0)
		for _, long := range []time.Duration{4 * time.Second, 20 * time.Second} { // the lease lasts 5 s
			s.Cut()
			time.Sleep(long)
			s.Heal()
			time.Sleep(time.Second)
		}
		s.Cut()
		time.Sleep(10 * time.Second)
		p.Gone(0, killed, nil) // from now on it waits
		time.Sleep(2 * time.Second)
		s.Heal()
		p.starts(1)
		p.Gone(1, well, nil)
		if e := p.ends(); e.Verdict != exitcodes.Success {
			t.Errorf("%+v", e)
		}
	})
}

// TestTheStoreStoppedTheRound: a round that a node has stopped because it did not reach the store is nobody's wish.
func TestTheStoreStoppedTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.NewInMemory().Connect(clock)
		p := join(t, s, "node0", rendezvous.DefaultSpec(1), func(*Config) {})
		if p.starts(0).StoreLost {
			t.Error("the first round follows none")
		}
		s.Cut()
		p.stops()
		s.Heal()
		if got := p.starts(1); !got.StoreLost || got.Blamed != "" {
			t.Errorf("lost the store: %v, blamed: %q", got.StoreLost, got.Blamed)
		}
		p.Gone(1, well, nil)
		p.ends()
	})
}

func TestStoreIsGoneForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		s := m.Connect(clock)
		p := join(t, s, "node0", rendezvous.DefaultSpec(1), func(c *Config) { c.StoreTimeout = time.Minute })
		p.starts(0)
		cut := time.Now()
		s.Cut()
		p.stops()
		if after := time.Since(cut); after < rendezvous.DefaultFence/4 || after > rendezvous.DefaultFence/2 {
			t.Errorf("stops after %v, want it by half of the fence time", after)
		}
		gone := time.Now()
		if e := p.ends(); e.Reason != exitcodes.ReasonStoreLost || e.Code != exitcodes.CodeStoreLost {
			t.Errorf("%+v", e)
		}
		if after := time.Since(gone); after < time.Minute || after > time.Minute+2*tick {
			t.Errorf("ends %v after its workers, want a minute", after)
		}
	})
}

// TestANodeThatWaitsNoticesThatTheStoreIsGone has nothing to write: what fails to come is the answer to renewals.
func TestANodeThatWaitsNoticesThatTheStoreIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.NewInMemory().Connect(clock)
		p := join(t, s, "node0", rendezvous.DefaultSpec(2), func(c *Config) { c.StoreTimeout = time.Minute })
		time.Sleep(time.Minute)
		cut := time.Now()
		s.Cut()
		if e := p.ends(); e.Reason != exitcodes.ReasonStoreLost {
			t.Errorf("%+v", e)
		}
		if after := time.Since(cut); after < time.Minute || after > time.Minute+DefaultLease+2*tick {
			t.Errorf("ends after %v, want a minute", after)
		}
	})
}

// TestADeletedRecordOfARoundIsPutBack deletes it by hand while the round runs: nothing stops, and the round after it
// can be formed. It does not matter whether the one that leads is the one that has formed the round.
func TestADeletedRecordOfARoundIsPutBack(t *testing.T) {
	for name, another := range map[string]bool{"by the leader": false, "by the next leader": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := store.NewInMemory()
				byHand, first := m.Connect(clock), m.Connect(clock)
				defer byHand.Close()
				lead := join(t, first, "node0", rendezvous.DefaultSpec(2), nil)
				time.Sleep(time.Second)
				other := join(t, m.Connect(clock), "node1", rendezvous.DefaultSpec(2), nil)
				lead.starts(0)
				other.starts(0)
				time.Sleep(time.Second)
				if another {
					first.Cut()
				}
				record := func() []store.KV {
					return storetest.Commit(t, byHand, store.Txn{Read: []string{roundKey(0)}}).Read
				}
				before := record()
				storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Delete(roundKey(0))}})
				time.Sleep(2 * DefaultLease)
				first.Heal()
				time.Sleep(2 * lookAgain)
				if after := record(); len(after) != 1 || string(after[0].Value) != string(before[0].Value) {
					t.Fatalf("now there is %v, there was %v", after, before)
				}
				other.Failing(0, killed, nil)
				other.Gone(0, killed, nil)
				lead.stops()
				lead.starts(1)
				other.starts(1)
			})
		})
	}
}

// TestTheCauseAfterItsEcho is a node of which one worker fails as an echo, and then another as the cause.
func TestTheCauseAfterItsEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := gang(t, store.NewInMemory(), 2)
		for _, p := range nodes {
			p.starts(0)
		}
		echo := killed
		echo.Role = "cascade"
		nodes[0].Failing(0, echo, nil)
		nodes[0].Failing(0, broken, nil)
		nodes[0].Failing(0, echo, nil)
		nodes[1].stops()
		nodes[0].Gone(0, broken, nil)
		for _, p := range nodes {
			if e := p.ends(); e.Verdict != exitcodes.Fatal || e.Cause.Node != "node0" {
				t.Errorf("%s ends with %+v", p.name, e)
			}
		}
	})
}

// TestAStartThatWasPutOffIsNoStartAnyMore takes the order to start, and then the store away, before the workers are
// started: by half of the fence time they must not be any more.
func TestAStartThatWasPutOffIsNoStartAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.NewInMemory().Connect(clock)
		p := join(t, s, "node0", rendezvous.DefaultSpec(1), nil)
		p.starts(0)
		s.Cut()
		time.Sleep(rendezvous.DefaultFence/2 - p.cfg.StopTime - 2*tick)
		if !p.MayStart() {
			t.Error("too careful: the fence is far away")
		}
		time.Sleep(3 * tick)
		if p.MayStart() {
			t.Error("others may soon count this node as gone, and it may start workers")
		}
		p.stops()
	})
}

// replaying hands each update of the job's record out again when it is told to.
type replaying struct {
	store.Store
	again chan struct{}
}

type replayed struct{ out chan store.Update }

func (r replayed) Updates() <-chan store.Update { return r.out }
func (replayed) Sync(int64)                     {}

func (r *replaying) Watch(ctx context.Context, selector string) store.Watcher {
	w := r.Store.Watch(ctx, selector)
	if selector != jobKey {
		return w
	}
	out := replayed{make(chan store.Update)}
	go func() {
		defer close(out.out)
		var all []store.Update
		send := func(u store.Update) {
			select {
			case out.out <- u:
			case <-ctx.Done():
			}
		}
		for {
			select {
			case u, ok := <-w.Updates():
				if !ok {
					return
				}
				all = append(all, u)
				send(u)
			case <-r.again:
				for _, u := range all {
					if !u.Reset {
						send(u)
					}
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// TestALateEventIsDropped deletes the job's record by hand, which the leader puts back; and when the next round runs, all
// that was ever told of the record is told once more.
func TestALateEventIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		s := &replaying{m.Connect(clock), make(chan struct{})}
		p := join(t, s, "node0", rendezvous.DefaultSpec(1), nil)
		p.starts(0)
		storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Delete(jobKey)}})
		time.Sleep(time.Minute)
		p.Failing(0, killed, nil)
		p.Gone(0, killed, nil)
		p.starts(1)
		s.again <- struct{}{}
		time.Sleep(time.Minute)
		select {
		case o := <-p.Orders():
			t.Fatalf("got %s", describe(o))
		default:
		}
		p.Gone(p.round, well, nil)
		p.ends()
	})
}
