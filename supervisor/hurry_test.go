package supervisor

import (
	"io"
	"log/slog"
	"testing"
	"time"
)

// TestHurry has a worker that may save for minutes: none of that is left, however close its grace is to its end, and
// whatever comes after it.
func TestHurry(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, grace := range map[string]time.Duration{"early": 20 * time.Second, "near its end": 3 * time.Second} {
		w := &worker{pid: 1, killAt: now.Add(grace), saveBy: now.Add(10 * time.Minute), makesWay: true}
		s := &Supervisor{
			cfg: Config{RestartGrace: 5 * time.Second}, phase: running, workers: []*worker{w},
			log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		}
		s.hurry(now, "a reason")
		if until := now.Add(5 * time.Second); w.killAt.After(until) || w.saveBy.After(until) || w.makesWay || !s.hurried {
			t.Errorf("%s: SIGKILL at %v, or %v if it saves, makes way %v", name, w.killAt, w.saveBy, w.makesWay)
		}
	}
}
