package agent

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// TestOneComesBackLate cuts a node off for so long that the others continue without it. They count from when they last
// heard of it, and the node does not tell of a restart, when it is back, that was long over.
func TestOneComesBackLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		way := m.Connect(clock)
		var log heard
		spec := rendezvous.DefaultSpec(2)
		spec.MinNodes, spec.LastCall = 1, rendezvous.Duration(200*time.Millisecond)
		one := join(t, m.Connect(clock), "node0", spec, nil)
		other := join(t, way, "node1", spec, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		one.starts(0)
		other.starts(0)
		way.Cut()
		other.stops()
		o := one.next()
		if o.Stop == nil || o.Stop.Silence != rendezvous.DefaultFence {
			t.Errorf("%s, %+v; want the time of silence to be %v", describe(o), o.Stop, rendezvous.DefaultFence)
		}
		one.Gone(0, rendezvous.Outcome{}, nil)
		one.starts(1)
		way.Heal()
		time.Sleep(time.Minute)
		if log.has("restarting") || !log.has("round 1 runs without this node") {
			t.Errorf("it says %s", log.all())
		}
		one.Gone(1, well, nil)
		one.ends()
	})
}
