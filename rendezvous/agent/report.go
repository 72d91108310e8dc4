package agent

import (
	"slices"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// failing handles what Agent.Failing reports: the first failure of a round, and one that may be its cause.
func (n *node) failing(round int, o rendezvous.Outcome, step *int64) {
	told := n.record.Outcome
	if round != n.record.Round || n.record.State != rendezvous.NodeRunning || told != nil && !o.Outranks(told) {
		return
	}
	n.record.Outcome, n.record.OutcomeRev, n.record.Step = n.stamp(o), 0, step
	n.ruleAlone(n.record.Outcome, step)
	n.writer.dirty = true
}

// gone handles what Agent.Gone reports: the acknowledgement that the round is over here.
func (n *node) gone(round int, o rendezvous.Outcome, step *int64) {
	if round != n.record.Round || n.record.State != rendezvous.NodeRunning {
		return
	}
	n.pending = slices.DeleteFunc(n.pending, func(o Order) bool { return o.Ask != nil || o.Save != nil || o.Stop != nil }) // nobody needs it any more
	n.record.State, n.record.Step = rendezvous.NodeStopped, step
	switch {
	case o.Verdict == exitcodes.Success:
		n.record.State = rendezvous.NodeDone
	case o.Verdict == "" && (n.cutOff || !n.halted && !n.saving && !n.record.Leaving): // or it was too late to start anything
		said := o.Said
		o = rendezvous.CutOff(n.self.Store, n.self.RunUID, round, n.now())
		o.Said = said
	}
	n.started, n.halted, n.expedited, n.overlapSaid = false, false, false, false
	guard := n.self.Guard
	if n.cutOff {
		guard = n.late
	}
	if over := guard.Overlap(n.clock()); over > 0 && guard.Fence > 0 {
		n.log.Error("this node was paused for so long that another round may have run beside its own", "overlap", over)
	}
	switch {
	case o.Verdict == "" && o.Said == nil:
		n.record.Outcome, n.record.OutcomeRev = nil, 0
	case o.Verdict == "":
		n.record.Outcome, n.record.OutcomeRev = n.stamp(o), 0
	default:
		n.record.Outcome = n.stamp(o)
		n.ruleAlone(n.record.Outcome, step)
		n.sayDispensable()
	}
	if n.lostAt != 0 {
		n.lostAt = max(n.clock(), 1) // the time to wait for the store begins now
	}
	n.stillFull()
	n.writer.dirty = true
}

// stamp says what an outcome is about.
func (n *node) stamp(o rendezvous.Outcome) *rendezvous.Outcome {
	o.Store, o.RunUID, o.Round = n.self.Store, n.self.RunUID, n.record.Round
	return &o
}

// sayOverlap says once that another round runs beside this node's workers, whether or not they are being stopped. Of a
// node that has stopped them because it did not reach the store gone says whether that was in time.
func (n *node) sayOverlap() {
	j := n.reading.Job
	if !n.started || n.overlapSaid || n.cutOff || j == nil || j.Store != n.self.Store || j.Round <= n.record.Round {
		return
	}
	n.overlapSaid = true
	n.log.Error("another round has begun while this node's workers still run", "its_round", n.record.Round, "round", j.Round)
}

// leave handles what Agent.Leave reports.
func (n *node) leave() {
	n.record.Leaving = true
	n.writer.dirty = true
}
