package agent_test

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
)

// TestSuspendedBeforeARestart has a person suspend the job while it waits for a restart that is paid: the failure is not paid
// once more, which would end a job on its last restart.
func TestSuspendedBeforeARestart(t *testing.T) {
	for seed := range int64(6) {
		c := simConfig{seed: seed, n: 2, min: 2, calm: true, faults: []fault{
			{at: 8 * time.Second, kind: "fail", node: 0},
			{at: 14 * time.Second, kind: "fail", node: 0},
			{at: 19 * time.Second, kind: "suspend"},
		}}
		c.script = func(s *sim) {
			pause := rendezvous.Duration(20 * time.Second)
			s.spec.Restarts.Max, s.spec.Restarts.Backoff, s.spec.Restarts.BackoffMax = 2, pause, pause
		}
		s := run(t, c)
		if s.wrong != "" {
			report(t, c, s)
		}
		if s.job.Phase != rendezvous.Succeeded || s.job.Budget.Used != 2 {
			t.Errorf("seed %d: %s, %d restarts are used", seed, s.job.Phase, s.job.Budget.Used)
		}
	}
}
