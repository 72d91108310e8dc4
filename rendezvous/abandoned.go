package rendezvous

import "time"

// begun reports whether there is anything to continue with: a round, or somebody's word that none is to begin.
func (j *Job) begun() bool { return j.NextRound > 0 || j.Suspend }

// Abandoned is what has become of a job of which nothing but its record is left, neither the store nor a node: it is
// suspended, and continues with the first node that comes. When its round ended without a word, the budget pays for
// that, so that what kills a whole job does not go on for ever; then the run may have ended with it. It is nil for a
// job that had finished, or had not begun: whoever comes begins another run.
func (j *Job) Abandoned(now time.Time) *Job {
	if j.Phase.finished() || !j.begun() {
		return nil
	}
	t := turn{job: j.clone(), now: now}
	if cause, unjudged := lastWords(j, now); unjudged {
		if cause.Kind == StopLoss {
			cause.Message = "gangrun was killed with all that it ran, before it could say why"
		}
		// Where every restart is left to others, that somebody comes is one of them.
		if r := j.Spec.Restarts; !r.Never && r.Max > 0 && !t.judge(cause, nil) {
			return t.job
		}
	}
	if t.job.Phase != Suspended {
		t.job.enter(Suspended, now)
	}
	return t.job
}
