package agent

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// listening has a node keep what it says.
func listening(h *heard) func(*Config) {
	return func(c *Config) { c.Log = slog.New(slog.NewTextHandler(h, nil)) }
}

// says wants some things to be said, and others not.
func says(t *testing.T, who string, h *heard, is, isNot []string) {
	t.Helper()
	for _, what := range is {
		if !h.has(what) {
			t.Errorf("%s does not say %q: %s", who, what, h.all())
		}
	}
	for _, what := range isNot {
		if h.has(what) {
			t.Errorf("%s says %q: %s", who, what, h.all())
		}
	}
}

// TestTrainingContinuesForNow: a node that does not reach the store says for how long its workers run on; one that finds
// only after a pause that their time is over says nothing of that kind just before it stops them.
func TestTrainingContinuesForNow(t *testing.T) {
	const forNow = "training continues for now"
	t.Run("cut off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := store.NewInMemory()
			way := m.Connect(clock)
			var log heard
			p := join(t, way, "node0", rendezvous.DefaultSpec(1), listening(&log))
			p.starts(0)
			time.Sleep(time.Minute)
			way.Cut()
			time.Sleep(2 * DefaultLease)
			way.Heal()
			time.Sleep(DefaultLease)
			says(t, "it", &log, []string{forNow + "\" stops_in=2", "the store answers again"}, nil)
			p.Gone(0, well, nil)
			p.ends()
		})
	})
	t.Run("paused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := store.NewInMemory()
			var paused atomic.Int64
			running := func() time.Duration { return clock() + time.Duration(paused.Load()) }
			var log heard
			way := m.Connect(running)
			p := join(t, way, "node0", rendezvous.DefaultSpec(1), func(c *Config) {
				listening(&log)(c)
				c.Clock = running
			})
			p.starts(0)
			time.Sleep(time.Minute)
			way.Cut() // whoever stands still hears nothing
			paused.Store(int64(2 * rendezvous.DefaultFence))
			p.stops()
			says(t, "it", &log, nil, []string{forNow})
		})
	})
}

// TestALeaseIsRevokedByHand: the store has answered all the time, and nothing stops.
func TestALeaseIsRevokedByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		var log heard
		p := join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(1), listening(&log))
		p.starts(0)
		time.Sleep(time.Minute)
		key := store.Txn{Read: []string{nodesKey + "node0"}}
		if err := byHand.Revoke(t.Context(), storetest.Commit(t, byHand, key).Read[0].Lease); err != nil {
			t.Fatal(err)
		}
		time.Sleep(DefaultLease)
		if there := storetest.Commit(t, byHand, key).Read; len(there) != 1 || !there[0].Leased {
			t.Errorf("its key is not there again: %+v", there)
		}
		says(t, "it", &log, []string{"the store ended this node's lease: rejoining"}, []string{"does not answer", "cannot be reached"})
		p.Gone(0, well, nil)
		p.ends()
	})
}

// TestARankTwice: of two nodes with one rank the later one is told who has it, and each of them says why it waits once.
func TestARankTwice(t *testing.T) {
	for name, most := range map[string]int{"by hand": 2, "by an operator": mostByHand + 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := store.NewInMemory()
				logs := make([]heard, 2)
				for i := range logs {
					join(t, m.Connect(clock), string(rune('a'+i)), rendezvous.DefaultSpec(most), func(c *Config) {
						listening(&logs[i])(c)
						c.Node.Pin = new(int)
					})
					time.Sleep(2 * sayAfter)
				}
				time.Sleep(2 * sayAfter)
				const generic, taken = "no round is formed yet", "rank 0 is held by a; if that is gone, its lease ends by itself, else give each node a rank of its own"
				says(t, "the leader", &logs[0], []string{"without a place, for their rank is taken or too high: b"}, []string{generic, taken})
				want, not := taken, generic
				if most > mostByHand {
					want, not = generic, taken
				}
				says(t, "the other", &logs[1], []string{want}, []string{not, `msg="the job waits"`})
			})
		})
	}
}

// TestNobodyWaits: a job of one node does not wait for that node, which says itself that its workers take long to stop.
func TestNobodyWaits(t *testing.T) {
	for most, waits := range map[int]bool{1: false, 2: true} {
		synctest.Test(t, func(t *testing.T) {
			m := store.NewInMemory()
			var log heard
			var gang []*party
			for i := range most {
				gang = append(gang, join(t, m.Connect(clock), string(rune('a'+i)), rendezvous.DefaultSpec(most), listening(&log)))
			}
			for _, p := range gang {
				p.starts(0)
			}
			gang[0].Leave()
			time.Sleep(5 * sayAfter)
			if got := log.has(`msg="the job waits"`); got != waits {
				t.Errorf("of %d: %v: %s", most, got, log.all())
			}
		})
	}
}

// TestUntilWhenIsWaited: who waits for a node that is silent, or for one that may run in an earlier store, says until when.
func TestUntilWhenIsWaited(t *testing.T) {
	t.Run("silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := store.NewInMemory()
			way := m.Connect(clock)
			var log heard
			one := join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(2), listening(&log))
			other := join(t, way, "node1", rendezvous.DefaultSpec(2), nil)
			one.starts(0)
			other.starts(0)
			way.Cut()
			time.Sleep(DefaultLease + 2*sayAfter)
			says(t, "the leader", &log, []string{"node1 is silent, and counts as gone at the latest after 1m0s of that"}, nil)
			one.stops()
			time.Sleep(2 * sayAfter)
			says(t, "it", &log, []string{"restarting", "needs_nodes=2", "1 of 2 nodes are there"}, nil)
		})
	})
	t.Run("in a new store", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := store.NewInMemory()
			logs, nodes := make([]heard, 3), make([]*party, 3)
			for i := range nodes {
				nodes[i] = join(t, m.Connect(clock), string(rune('a'+i)), rendezvous.DefaultSpec(3), func(c *Config) {
					listening(&logs[i])(c)
					c.Volatile = true
				})
			}
			for _, p := range nodes {
				p.starts(0)
			}
			time.Sleep(time.Minute)
			m.Replace()
			until := time.Now().Add(rendezvous.DefaultFence).Local().Format(time.TimeOnly)
			for _, p := range nodes {
				p.stops()
			}
			time.Sleep(rendezvous.DefaultFence / 2)
			for i := range logs {
				says(t, nodes[i].name, &logs[i], []string{"nodes that knew the one before may run until " + until}, nil)
			}
		})
	})
}
