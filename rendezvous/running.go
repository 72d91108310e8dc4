package rendezvous

import (
	"fmt"
	"slices"

	"github.com/gangrun/gangrun/exitcodes"
)

// running looks for a reason to end the round, the strongest first.
func (t *turn) running(members []member) Decision {
	if t.allDone(members) {
		t.job.MembersGone = !slices.ContainsFunc(members, func(m member) bool { return !m.standing.out() })
		t.end(Succeeded, End{
			Verdict: exitcodes.Success, Reason: exitcodes.ReasonSucceeded, Message: "training succeeded on " + t.succeeded(members),
		})
		return t.write(ActSucceed)
	}
	if t.wentBack() {
		return t.write(ActStop)
	}
	for _, m := range members {
		if o := t.outcome(m); !m.standing.out() && (o == nil || o.echoes()) { // of several workers another one may tell more
			t.unheard = true
			t.unhung = t.unhung || t.gang(m) && !o.hangs()
		}
	}
	// A failure of which the node has told comes before a departure, and a departure before a loss: what is known
	// before what is guessed.
	for _, look := range []func(member) bool{t.hasFailed, t.departs, t.isLost} {
		for _, m := range members {
			if look(m) {
				return t.write(ActStop)
			}
		}
	}
	if d, ok := t.save(members); ok {
		return d
	}
	if t.grows(members) {
		t.stop(StopGrow, "", "Grow", "more nodes are there, and a checkpoint to resume from")
		return t.write(ActStop)
	}
	_, missing, next := barrier(members)
	next = earliest(next, t.again)
	if len(missing) > 0 {
		return t.wait(next, WaitsForFence, missing, "round %d runs; %s as gone at the latest after %v of that",
			t.job.Round, joinNames(missing, "is silent, and counts", "are silent, and count"), t.fence())
	}
	return t.wait(next, WaitsForEnd, nil, "round %d runs", t.job.Round)
}

// allDone reports whether every member that success needs has succeeded.
func (t *turn) allDone(members []member) bool {
	required := 0
	for _, m := range members {
		if !t.job.Spec.required(m.Role) {
			continue
		}
		if required++; m.standing != done {
			return false
		}
	}
	if required > 0 {
		return true
	}
	for _, m := range members {
		if m.standing != done {
			return false
		}
	}
	return len(members) > 0
}

// succeeded says on how many nodes that was.
func (t *turn) succeeded(members []member) string {
	n := 0
	for _, m := range members {
		if m.standing == done {
			n++
		}
	}
	if n == len(members) {
		return "all nodes"
	}
	return fmt.Sprintf("%d of %d nodes; the others were not needed for that", n, len(members))
}

func (t *turn) hasFailed(m member) bool {
	o := t.outcome(m)
	switch {
	case !t.gang(m) && (o == nil || !t.blames(m, o)):
		return false // it restarts alone, or nobody waits for it
	case o != nil && o.echoes() && t.mayHearMore(m, o):
		return false
	case o != nil && o.failed():
		kind := StopFailure
		if o.cutOff() {
			kind = StopStore
		}
		t.stop(kind, m.Name, o.Reason, o.Message)
		return true
	case m.standing == stopped && m.own && !m.entry.Leaving && !t.job.saving():
		t.stop(StopFailure, m.Name, exitcodes.ReasonError, "its workers have stopped, and it does not say why")
		return true
	}
	return false
}

// mayHearMore reports whether somebody else may yet tell of the failure of which this member's is the echo. A process that
// dies closes its connections first; to stop it now would take its own word from it, and make a retry of what is fatal. Where
// it is a hang, the others are about to find it, too: once they have, all write their stacks in the same instant.
func (t *turn) mayHearMore(m member, o *Outcome) bool {
	rank := t.Round.Rank(m.Name, m.Incarnation)
	if rank < 0 || rank >= len(t.Observations.Member) || t.Observations.Member[rank].Echo.IsZero() {
		return false
	}
	waits, until := t.unheard, t.Observations.Member[rank].Echo.Add(evidenceTime)
	if o.hangs() {
		waits, until = t.unhung, t.Observations.Member[rank].Echo.Add(foundTime)
	}
	if !waits || !t.now.Before(until) {
		return false
	}
	t.again = earliest(t.again, until)
	return true
}

func (t *turn) departs(m member) bool {
	if !t.missed(m) || m.standing != leaving && m.standing != left && !(m.own && m.entry.Leaving && m.standing != done) {
		return false
	}
	if t.asks(m) || t.job.saving() { // it saves first, with all others
		return false
	}
	t.stop(StopDeparture, m.Name, exitcodes.ReasonPreempted, "it is leaving")
	return true
}

// isLost reports a member that has gone without a word. As long as it is merely silent the others go on: it may have
// lost the store and not its life, and no new round could start before the fence anyway.
func (t *turn) isLost(m member) bool {
	if !t.missed(m) {
		return false
	}
	switch {
	case t.job.saving() && (m.standing == stopped || m.standing == done || m.standing == left):
		return false // by its own word it has done its part; the others still save
	case m.taken:
		t.stop(StopLoss, m.Name, ReasonNodeLost, "another incarnation has taken its place")
	case m.standing == fenced, m.standing == dead, m.standing == stopped && !m.own:
		t.stop(StopLoss, m.Name, ReasonNodeLost, "nothing has been heard of it for too long")
	default:
		return false
	}
	if !m.until.IsZero() {
		t.job.Stop.Silence = Duration(t.now.Sub(m.until.Add(-t.fence())))
	}
	return true
}

// grows reports whether the round should end to admit more nodes: there is a place, somebody waits for it, and a
// checkpoint newer than the one the round began with.
func (t *turn) grows(members []member) bool {
	if t.job.Spec.Grow != GrowCheckpoint || len(members) >= t.job.Spec.MaxNodes {
		return false
	}
	waiting := slices.DeleteFunc(t.candidates(), func(c named) bool { return t.Round.Rank(c.name, c.Incarnation) >= 0 })
	if len(waiting) == 0 || len(t.assign(slices.Concat(own(members), waiting)).chosen) <= len(members) {
		return false // who waits is banned, without a place, or they are too few for the next size
	}
	p, _ := t.progress(own(members))
	began := t.Round.Resume.Step
	return p.Checkpoint != nil && (began == nil || *p.Checkpoint > *began)
}
