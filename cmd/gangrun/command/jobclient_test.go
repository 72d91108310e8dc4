package command

import (
	"testing"

	"github.com/gangrun/gangrun/rendezvous"
)

// TestAccepted is what a command for a job prints: no round is told of that has never begun.
func TestAccepted(t *testing.T) {
	for _, tt := range []struct {
		verb  string
		phase rendezvous.Phase
		round int
		want  string
	}{
		{rendezvous.VerbStop, rendezvous.Failed, 2, "stop: Failed, round 2"},
		{rendezvous.VerbStop, rendezvous.Failed, -1, "stop: the job has ended (Failed) before its first round"},
		{rendezvous.VerbSuspend, rendezvous.Suspended, -1, "suspend: Suspended, before the first round"},
		{rendezvous.VerbRestart, rendezvous.Forming, 0, "restart: Forming, round 0"},
	} {
		if got := accepted(tt.verb, tt.phase, tt.round); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
