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
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// listless is a way to the store on which the list of a round's members is not to be had, for so many times.
type listless struct {
	store.Store
	left atomic.Int64
}

func (l *listless) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	if len(txn.If) == 0 && len(txn.Read) == 1 && strings.HasPrefix(txn.Read[0], lists) && l.left.Add(-1) >= 0 {
		return store.Result{}, store.ErrUnreachable
	}
	return l.Store.Commit(ctx, txn)
}

// TestTheListIsMissed keeps from one node of many who takes part in a round, until that stops: it has to say then that
// nothing of it runs, or nobody ever starts again.
func TestTheListIsMissed(t *testing.T) {
	for name, missed := range map[string]int{"of the first round": 0, "of another one": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 18 // one more than are needed for a round to name a list
				m := store.NewInMemory()
				way := &listless{Store: m.Connect(clock)}
				spec := rendezvous.DefaultSpec(n)
				spec.MinNodes, spec.LastCallRestart = n-1, rendezvous.Duration(100*time.Millisecond)
				nodes := []*party{join(t, way, "node0", spec, nil)}
				for i := 1; i < n; i++ {
					nodes = append(nodes, join(t, m.Connect(clock), fmt.Sprint("node", i), spec, nil))
				}
				if missed == 0 {
					way.left.Store(1)
				}
				for round := range missed {
					for _, p := range nodes {
						p.starts(round)
					}
					last := nodes[len(nodes)-1]
					nodes = nodes[:len(nodes)-1]
					last.Leave()
					for _, p := range nodes {
						p.stops()
					}
					way.left.Store(1)
					last.stops()
					last.ends()
				}
				others := nodes[1:]
				for _, p := range others {
					p.starts(missed)
				}
				others[3].Failing(missed, killed, nil)
				others[3].Gone(missed, killed, nil)
				for i, p := range others {
					if i != 3 {
						p.stops()
					}
				}
				for _, p := range nodes {
					p.starts(missed + 1)
				}
				if way.left.Load() > 0 {
					t.Fatal("nobody has asked for the list")
				}
			})
		})
	}
}

// reads counts how often the list of a round's members is read.
type reads struct {
	store.Store
	of *atomic.Int64
}

func (r reads) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	for _, selector := range txn.Read {
		if strings.HasPrefix(selector, lists) {
			r.of.Add(1)
		}
	}
	return r.Store.Commit(ctx, txn)
}

// TestTheListIsReadOnce: of all that there is to read it is the longest, and each node reads it for itself. Who has it
// does not read it again when a lease is lost, or the round comes a moment after the job's record.
func TestTheListIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 18
		m := store.NewInMemory()
		var count atomic.Int64
		var nodes parties
		for i := range n {
			nodes = append(nodes, join(t, reads{m.Connect(clock), &count}, fmt.Sprint("node", i), rendezvous.DefaultSpec(n), nil))
		}
		nodes.start(0)
		byHand := m.Connect(clock)
		defer byHand.Close()
		for _, kv := range storetest.Commit(t, byHand, store.Txn{Read: []string{nodesKey}}).Read {
			if err := byHand.Revoke(t.Context(), kv.Lease); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if got := count.Load(); got != n {
			t.Errorf("%d nodes have read it %d times", n, got)
		}
	})
}

// TestMissingIsPatient: a round that is not there at one tick may be on its way, and at the next one not.
func TestMissingIsPatient(t *testing.T) {
	n := &node{reading: rendezvous.Reading{Job: &rendezvous.Job{RunUID: "u", Phase: rendezvous.Running, Round: 1, Seq: 7}}}
	for i, want := range []bool{false, true} {
		if n.missing(); n.writer.rejoin != want {
			t.Errorf("tick %d: reads everything again: %v, want %v", i, n.writer.rejoin, want)
		}
	}
	n.writer.rejoin, n.fetching = false, "m"
	if n.missing(); n.writer.rejoin {
		t.Error("its list is on its way")
	}
}

// TestRoundsThatWaitForOneList: while a node reads who takes part in a round, the next one of the same members comes.
// It is known with the list, too, in whatever order the two have come.
func TestRoundsThatWaitForOneList(t *testing.T) {
	const name = "m1"
	m := store.NewInMemory()
	s := m.Connect(clock)
	defer s.Close()
	list, err := rendezvous.Encode(&rendezvous.MemberList{V: 1, Members: []rendezvous.Member{{Name: "a", Incarnation: "a#1", Slots: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Commit(t, s, store.Txn{Then: []store.Op{store.Put(lists+name, list)}})
	round := func(number int) store.KV {
		r := rendezvous.Round{
			V: 1, Store: "s", RunUID: "u", Number: number, MemberList: name, MasterAddr: "a", MasterPort: 1,
			Fence: rendezvous.Duration(rendezvous.DefaultFence),
		}
		r.Store = storetest.Commit(t, s, store.Txn{}).Token
		value, err := rendezvous.Encode(&r)
		if err != nil {
			t.Fatal(err)
		}
		return store.KV{Key: roundKey(number), Value: value}
	}
	for _, order := range [][]int{{9, 10}, {10, 9}} {
		n := newNode(&Agent{log: slog.New(slog.DiscardHandler), clock: clock, cfg: Config{Lease: DefaultLease}}, t.Context())
		n.link.store = s
		for _, number := range order {
			n.readRound(round(number))
		}
		(<-n.checkpoints.results)(n)
		if n.round == nil || n.round.Number != 10 || !n.round.Whole() || n.fetching != "" {
			t.Errorf("after %v it knows %+v", order, n.round)
		}
	}
}
