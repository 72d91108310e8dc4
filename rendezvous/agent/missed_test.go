package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// TestAnotherRunIsMissed: a member is cut off, and while it is, another run begins that ends once it is back. It tells its
// spec again, with which it founds its own run again.
func TestAnotherRunIsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		run := func(uid string) func(*Config) {
			return func(c *Config) { c.Node.RunUID, c.StoreTimeout = uid, time.Hour }
		}
		s := m.Connect(clock)
		cut := join(t, s, "node0", rendezvous.DefaultSpec(1), run("u1"))
		cut.starts(0)
		time.Sleep(5 * time.Second)
		s.Cut()
		cut.next() // to stop
		cut.Gone(0, rendezvous.Outcome{}, nil)
		time.Sleep(2 * time.Minute)
		other := join(t, m.Connect(clock), "node1", rendezvous.DefaultSpec(1), run("u2"))
		began := other.next()
		s.Heal()
		time.Sleep(20 * time.Second)
		other.Gone(began.Start.Round.Number, well, nil)
		other.next() // the end
		other.Close()
		select {
		case o := <-cut.Orders():
			if o.Start == nil {
				t.Errorf("%s", describe(o))
			}
		case <-time.After(5 * time.Minute):
			t.Error("it does not begin again")
		}
	})
}
