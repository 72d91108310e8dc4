package rendezvous

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// ReasonNodeLost is the reason of a failure for which a node is to blame that went without a word.
const ReasonNodeLost = "NodeLost"

// evidenceTime is how long a root cause waits for an earlier one from members that have not yet stopped.
const evidenceTime = time.Second

// How long a hang waits for the other members, all of whose workers wait for each other.
const (
	// foundTime is to find it, too. With the second in which the first has confirmed it, and the way through the store, that is
	// two: as long after the limit as anybody is promised.
	foundTime  = 900 * time.Millisecond
	stacksTime = 10 * time.Second // to end theirs, and to know where those stood or what they had said
)

// reports is what the members of a round that stops have told, and how they went. Names are empty for nobody.
type reports struct {
	reports []report // of those who failed, or were stopped when they had failed already
	leaver  string   // who has said that it is leaving
	lost    string   // who has gone without a word
	cutOff  string   // who has stopped by itself, for it could not reach the store
	spoken  bool     // every member has stopped, or has been silent for a while
	out     bool     // every member has stopped, or is gone for certain
	again   time.Time
}

// returnTime is how long a silent member may take to come back, after the store was out of reach for many or after a
// change of the leader, before its silence explains anything.
const returnTime = 5 * time.Second

func (t *turn) collect(members []member) reports {
	said := reports{spoken: true, out: true}
	for _, m := range members {
		said.out = said.out && m.standing.out()
		if m.standing == silent {
			heard := m.until.Add(returnTime - t.fence())
			if t.now.Before(heard) {
				said.spoken, said.again = false, earliest(said.again, heard)
			}
		} else if !m.standing.out() {
			said.spoken = false
		}
		o := t.outcome(m)
		if o != nil && (o.failed() && o.role() != exitcodes.RoleNone || o.Said != nil) && t.blames(m, o) {
			said.reports = append(said.reports, report{m.Name, cmp.Or(m.entry.OutcomeRev, m.entry.ModRev), o})
		}
		switch {
		case !t.missed(m):
		case o != nil && o.cutOff():
			said.cutOff = cmp.Or(said.cutOff, m.Name)
		case m.standing == left || m.standing == leaving || m.own && m.entry.Leaving,
			m.standing.lost() && t.job.Stop.Kind == StopDeparture && t.job.Stop.Node == m.Name: // it was killed on its way
			said.leaver = cmp.Or(said.leaver, m.Name)
		case m.standing.lost():
			said.lost = cmp.Or(said.lost, m.Name)
		}
	}
	return said
}

// hearsay reports whether what is known of a node is only what a worker had said that was stopped. Another one, whom the
// echoes name, may have said more.
func (r reports) hearsay(node string) bool {
	return slices.ContainsFunc(r.reports, func(p report) bool { return p.node == node && p.outcome.role() < exitcodes.RoleRoot })
}

// cause picks the root cause of the stop. settled is false while a member may have more to say, and what is known so
// far would not stand against it; again is when to look again, if not at the next change.
//
// A root cause wins. Without one, a member that was leaving, or that went silent, explains the failures of the others,
// which may well be its echo. Only when all members have spoken is an echo believed, and even then it costs no more
// than a restart. Where the store was out of reach for one member it may be so for those that are silent: they are
// waited for until they count as gone, which the next round has to wait for anyway.
func (t *turn) cause(members []member) (stop Stop, settled bool, again time.Time) {
	stop = *t.job.Stop
	said := t.collect(members)
	g, failed := t.guilty(said.reports)
	g = t.behindMost(g, said.reports, members)
	f := g.outcome
	if failed && f.role() == exitcodes.RoleRoot {
		if again = stop.At.Add(evidenceTime); f.hangs() || said.hearsay(g.node) {
			again = stop.At.Add(stacksTime)
		}
		return stop.as(StopFailure, g.node, f.Reason, f.Message, f), said.spoken || !t.now.Before(again), again
	}
	settled = said.spoken && (said.out || said.cutOff == "")
	switch {
	case stop.asked():
	case said.leaver != "":
		stop = stop.as(StopDeparture, said.leaver, exitcodes.ReasonPreempted,
			t.job.Save.of(stop.Round).said(said.leaver+" is leaving"), nil)
	case said.lost != "":
		stop = stop.as(StopLoss, said.lost, ReasonNodeLost, said.lost+" has gone without a word", nil)
	case said.cutOff != "":
		stop = stop.as(StopStore, said.cutOff, exitcodes.ReasonStoreLost,
			said.cutOff+" could not reach the store and has stopped its workers", nil)
	case failed:
		stop = t.compared(stop.as(StopFailure, g.node, f.Reason, f.Message, f), members)
	}
	return stop, settled, said.again
}

// as is the same stop with another cause.
func (s Stop) as(kind, node, reason, message string, o *Outcome) Stop {
	s.Kind, s.Node, s.Reason, s.Message, s.Outcome = kind, node, reason, message, o
	return s
}

// asked reports whether the round stops because somebody wanted it to, and not because something went wrong.
func (s Stop) asked() bool {
	return s.Kind == StopSuspend || s.Kind == StopRestart || s.Kind == StopGrow || s.Kind == StopAdopt
}

// judge says whether the job goes on after this cause, as far as that is known now; if not, it has ended the run. The
// budget pays at once where there are no checkpoints to look at, and else before the next round (forming).
func (t *turn) judge(cause Stop, members []member) (goesOn bool) {
	j := t.job
	cause.Judged = true
	j.Stop = &cause
	t.countHang(cause)
	j.History = last(append(j.History, cause.past()), newHistory)
	// An echo never ends a job for good: whatever it echoes was not found.
	if o := cause.Outcome; o != nil && o.Verdict == exitcodes.Fatal && o.role() > exitcodes.RoleCascade &&
		!j.Spec.Restarts.retries(o) {
		t.end(Failed, t.ending(exitcodes.Fatal))
		return false
	}
	if cause.Kind == StopFailure || cause.Kind == StopLoss {
		r := j.Spec.Restarts
		if r.Never || r.Max == 0 && r.Exhausted != ExhaustedFatal || t.neverRestarted(cause.Node) { // nothing was ever to be used up
			t.end(Failed, t.ending(cause.verdict()))
			return false
		}
	}
	// How far training has come is known when all workers have ended.
	return j.Spec.Resume.Look || t.charge(own(members))
}

// charge makes the budget pay for the last stop, given what the nodes say how far they have come, and says whether the
// job goes on; if not, it has ended the run.
func (t *turn) charge(nodes []named) (goesOn bool) {
	j := t.job
	cause := *j.Stop
	cause.Charged = true
	j.Stop = &cause
	made, older := t.progress(nodes)
	ruling := Ruling{Restart: true}
	switch cause.Kind {
	case StopFailure, StopLoss:
		j.Budget, ruling = j.Budget.Failed(j.Spec.Restarts, t.now, failureKey(cause), made, older, j.RunUID)
		if o := cause.Outcome; o != nil && o.Reason == exitcodes.ReasonCheckpointUnusable && older && ruling.Restart {
			// It was not read, although it is whole. Where it is not whole any more, the newest is another one already.
			ruling.Fallback = t.Round != nil && t.Round.Resume.Step != nil && *t.Round.Resume.Step == *made.Checkpoint
		}
	case StopDeparture:
		j.Budget, ruling = j.Budget.Departed(j.Spec.Restarts)
	}
	j.Fallback, j.NotBefore = ruling.Fallback, time.Time{}
	if ruling.Restart {
		if ruling.After > 0 {
			j.NotBefore = t.now.Add(ruling.After).UTC()
		}
		return true
	}
	t.spent(ruling)
	return false
}

// retries reports whether a fatal outcome is worth a restart all the same: torchrun restarts after any failure, and a
// bare exit code is no evidence that it would come again.
func (r Restarts) retries(o *Outcome) bool { return r.Any && o.Rule == "" }

// verdict is that of the cause by itself; a node that went is worth a retry.
func (s *Stop) verdict() exitcodes.Verdict {
	if s.Outcome != nil && s.Outcome.Verdict == exitcodes.Fatal {
		return exitcodes.Fatal
	}
	return exitcodes.Retry
}

// failureKey is equal for failures of the same kind.
func failureKey(s Stop) string {
	if s.Outcome == nil {
		return s.Reason + "/" + s.Node
	}
	return fmt.Sprintf("%s/%s/%d", s.Outcome.Reason, s.Outcome.Rule, s.Outcome.Code)
}

// ending is the end of a run for the cause that stands in its record.
func (t *turn) ending(verdict exitcodes.Verdict) End {
	cause := t.job.Stop
	e := End{Verdict: verdict, Reason: cause.Reason, Message: cause.Message, Cause: cause}
	own := -1
	if o := cause.Outcome; o != nil {
		own = o.Code
		switch {
		case !o.CodeOverridden:
		case o.Code == exitcodes.CodeFatalByRule:
			e.Reason = exitcodes.ReasonFatalByRule
		case o.Code == exitcodes.CodeRetryableByRule:
			e.Reason = exitcodes.ReasonRetryableByRule
		}
	}
	if cause.Kind == StopDeparture {
		own = exitcodes.CodeSignalBase + 15
	}
	e.Code = exitcodes.CodeFor(verdict, own)
	return e
}

// spent ends a run that may not be restarted any more.
func (t *turn) spent(r Ruling) {
	e := t.ending(t.job.Stop.verdict())
	e.Spent = &r.Spent
	e.Message = r.Spent.Says + "; " + e.Message
	if e.Reason = r.Reason; r.Reason == exitcodes.ReasonNoProgress || t.job.Spec.Restarts.Exhausted == ExhaustedFatal {
		e.Verdict, e.Code = exitcodes.Fatal, exitcodes.CodeNoProgress
	}
	t.end(Failed, e)
}
