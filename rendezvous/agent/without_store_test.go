package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

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
