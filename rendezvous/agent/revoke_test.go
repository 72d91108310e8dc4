package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// TestWhoHasEndedItsPredecessorWaitsForNoLease kills a gangrun and starts another one under its name a second later. Only
// where that has itself ended what was left does it take over at once; an operator's word does not do.
func TestWhoHasEndedItsPredecessorWaitsForNoLease(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*rendezvous.Node)
		atOnce bool
	}{
		"the same boot and PID namespace": {func(*rendezvous.Node) {}, true},
		"another PID namespace":           {func(n *rendezvous.Node) { n.PIDNS = "2" }, false},
		"another boot":                    {func(n *rendezvous.Node) { n.BootID = "c" }, false},
		"nothing was ended":               {func(n *rendezvous.Node) { n.BootID, n.PIDNS = "", "" }, false},
		"an operator gives no name twice": {func(n *rendezvous.Node) { n.BootID, n.PIDNS, n.Unique = "", "", true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := store.NewInMemory()
				way := m.Connect(clock)
				here := func(c *Config) { c.Node.BootID, c.Node.PIDNS, c.Node.Unique = "b", "1", true }
				first := join(t, way, "node0", rendezvous.DefaultSpec(1), here)
				first.starts(0)
				way.Cut() // it was killed
				time.Sleep(time.Second)
				began := time.Now()
				second := join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(1), func(c *Config) {
					here(c)
					tc.change(&c.Node)
				})
				second.starts(1)
				if took := time.Since(began); (took < time.Second) != tc.atOnce {
					t.Errorf("it took %v", took)
				}
				second.Gone(1, well, nil)
				second.ends()
			})
		})
	}
}
