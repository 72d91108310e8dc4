package agent

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// TestAnOverlapIsToldByAll breaks the first promise, that workers of two rounds never run at once, in the two ways that
// are left: workers do not go though they were killed in time, and somebody deletes all that shows that a node lives, as
// often as it is there again. Whoever sees it says so.
func TestAnOverlapIsToldByAll(t *testing.T) {
	t.Run("its workers outlive it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := overlapping(t, DefaultLease)
			o.way.Cut()
			if o := o.other.next(); o.Stop == nil {
				t.Fatalf("got %s", describe(o))
			}
			o.one.stops()
			o.one.starts(1)
			o.way.Heal()
			time.Sleep(DefaultLease)
			o.other.Gone(0, rendezvous.Outcome{}, nil)
			time.Sleep(DefaultLease)
			o.say("a node that had counted as gone is back, and its workers have run beside another round",
				"this node was paused for so long that another round may have run beside its own")
		})
	})
	t.Run("nothing shows that it lives", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := overlapping(t, 10_000*time.Hour) // so it compares its key with the store much later
			storetest.Commit(t, o.byHand, store.Txn{Then: []store.Op{store.Delete(nodesKey + "node1")}})
			over := make(chan struct{})
			defer close(over)
			go o.deleteCandidates("node1", over)
			o.one.stops()
			o.one.starts(1)
			if o := o.other.next(); o.Stop == nil {
				t.Fatalf("got %s", describe(o))
			}
			time.Sleep(tick)
			o.say("", "another round has begun while this node's workers still run")
		})
	})
}

// overlap is a job of two nodes in its first round, of which one would do; the first leads.
type overlap struct {
	t             *testing.T
	byHand        store.Store
	way           *store.Connection // of the other
	one, other    *party
	leader, node1 heard
}

func overlapping(t *testing.T, lease time.Duration) *overlap {
	m := store.NewInMemory()
	o := &overlap{t: t, byHand: m.Connect(clock), way: m.Connect(clock)}
	t.Cleanup(func() { _ = o.byHand.Close() })
	spec := rendezvous.DefaultSpec(2)
	spec.MinNodes, spec.LastCall, spec.LastCallRestart = 1, rendezvous.Duration(200*time.Millisecond), rendezvous.Duration(time.Millisecond)
	to := func(h *heard) func(*Config) {
		return func(c *Config) { c.Log, c.Lease = slog.New(slog.NewTextHandler(h, nil)), lease }
	}
	o.one = join(t, m.Connect(clock), "node0", spec, to(&o.leader))
	synctest.Wait() // until it leads
	o.other = join(t, o.way, "node1", spec, to(&o.node1))
	o.one.starts(0)
	o.other.starts(0)
	time.Sleep(time.Second)
	return o
}

// deleteCandidates deletes those of a node, as often as they are there.
func (o *overlap) deleteCandidates(name string, over <-chan struct{}) {
	for {
		for _, kv := range storetest.Commit(o.t, o.byHand, store.Txn{Read: []string{store.Candidates}}).Read {
			if strings.HasPrefix(string(kv.Value), name) {
				storetest.Commit(o.t, o.byHand, store.Txn{Then: []store.Op{store.Delete(kv.Key)}})
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-over:
			return
		}
	}
}

// say wants the leader and the other node to have said something.
func (o *overlap) say(leader, node string) {
	o.t.Helper()
	if !o.leader.has(leader) {
		o.t.Errorf("the leader says %s", o.leader.all())
	}
	if !o.node1.has(node) {
		o.t.Errorf("the node says %s", o.node1.all())
	}
}
