package rendezvous

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// withoutRound continues without the record of the job's round, which somebody has deleted and no leader remembers. Who
// its members were nobody can tell: a fence time after that was seen, none of them runs its workers but those that are
// there, and they are stopped.
func (t *turn) withoutRound() (Decision, bool) {
	t.Round = nil
	if t.job.MembersGone {
		return Decision{}, false
	}
	since := t.now
	s := t.Observations
	if s.Store == t.Token && s.RunUID == t.job.RunUID && s.Round == t.job.Round && !s.Missing.IsZero() {
		since = s.Missing
	}
	if until := since.Add(t.job.Spec.Fence.of()); t.now.Before(until) {
		return t.wait(until, WaitsForRecord, nil,
			"the record of round %d was deleted, and no leader remembers whose workers run: continuing without it at %s",
			t.job.Round, until.UTC().Format(time.TimeOnly)), true
	}
	switch stop := t.job.Stop; {
	case t.job.Phase == Running:
		t.stop(StopStore, "", exitcodes.ReasonStoreLost, "the record of the round was deleted")
		t.job.Stop.Judged = true
		return t.write(ActStop), true
	case t.job.Phase == Stopping && stop != nil && !stop.Judged: // who has failed cannot be told any more
		judged := *stop
		judged.Kind, judged.Judged = StopStore, true
		t.job.Stop = &judged
	}
	return Decision{}, false
}
