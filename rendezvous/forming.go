package rendezvous

import (
	"fmt"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// forming begins the next round as soon as nothing of the last one can still run and enough nodes are there.
func (t *turn) forming(members []member) Decision {
	if d, ok := t.waitForBarrier(members); ok {
		return d
	}
	if t.allLeft(members) {
		t.job.enter(Suspended, t.now)
		return t.write(ActSuspend)
	}
	candidates := t.candidates()
	a := t.assign(candidates)
	if !t.NewSince.IsZero() {
		if d, ok := t.newStore(candidates, a); ok {
			return d
		}
	}
	if !t.unpaidStop() || len(candidates) == 0 {
		return t.gather(candidates, a)
	}
	// Before anybody is waited for: it may be that nobody has to come any more.
	made := t.survivors(candidates)
	if waiting, why := t.unasked(made); len(waiting) > 0 {
		return t.waitForCheckpoints(waiting, why)
	}
	if !t.charge(made) {
		return t.write(ActFail)
	}
	d := t.gather(candidates, a)
	if d.Job == nil { // what was charged is to last
		next := d.Next
		d = t.write(ActJudge)
		d.Next = next
	}
	return d
}

// newStore waits until nothing of an earlier store's round can run any more.
func (t *turn) newStore(candidates []named, a assignment) (Decision, bool) {
	if a.chosen == nil { // whoever has to come should be named at once
		return t.tooFew(candidates, a), true
	}
	until := t.NewSince.Add(t.job.Spec.Fence.of())
	if t.now.Before(until) && !t.wholeGang(candidates) {
		if t.job.QuorumSince.IsZero() && len(a.chosen) < t.job.Spec.MaxNodes { // the two times run together
			if d, ok := t.lastCall(len(a.chosen)); ok {
				return d, true
			}
		}
		return t.wait(until, WaitsForStore, nil,
			"the store is new; nodes that knew an earlier one may run until %s", until.UTC().Format(time.TimeOnly)), true
	}
	if t.job.Spec.Resume.Look && t.job.SettledStore != t.Token {
		t.job.SettledStore = t.Token
		called := t.job.QuorumSince
		t.job.enter(Forming, t.now) // what was seen so far may be outdated
		t.job.QuorumSince = called
		return t.write(ActGather), true
	}
	return Decision{}, false
}

// unpaidStop reports whether the budget has yet to pay for the last stop.
func (t *turn) unpaidStop() bool {
	stop := t.job.Stop
	return t.job.Spec.Resume.Look && stop != nil && stop.Judged && !stop.Charged
}

// survivors are those of the nodes that were members of the last round, who know how far it had come; all of them when
// none was.
func (t *turn) survivors(candidates []named) []named {
	if t.Round == nil {
		return candidates
	}
	left := slices.DeleteFunc(slices.Clone(candidates), func(c named) bool { return t.Round.Rank(c.name, c.Incarnation) < 0 })
	if len(left) == 0 {
		return candidates
	}
	return left
}

// gather begins the round once enough nodes are there, and all of them know what they can resume from.
func (t *turn) gather(candidates []named, a assignment) Decision {
	if a.chosen == nil {
		return t.tooFew(candidates, a)
	}
	if waiting, why := t.unasked(a.chosen); len(waiting) > 0 {
		return t.waitForCheckpoints(waiting, why)
	}
	return t.startWith(a)
}

// startWith begins the round with these nodes, when it is time.
func (t *turn) startWith(a assignment) Decision {
	if t.now.Before(t.job.NotBefore) {
		return t.wait(t.job.NotBefore, WaitsForTime, nil,
			"pausing before the restart until %s", t.job.NotBefore.Format(time.TimeOnly))
	}
	if len(a.chosen) < t.job.Spec.MaxNodes {
		if d, ok := t.lastCall(len(a.chosen)); ok {
			return d
		}
	}
	return t.form(a)
}

// wholeGang reports whether nobody else of the job can be anywhere: all nodes that it can have are there, and either none
// knows of an earlier record, or their operator gives no name twice, and has numbered them, so that they are all that there
// ever were. Without numbers there may be others, spares that took part in the last round.
func (t *turn) wholeGang(nodes []named) bool {
	most, brought := t.job.Spec.MaxNodes, false
	pins := make(map[int]bool, len(nodes))
	for _, n := range nodes {
		if n.Unique && n.Pin != nil {
			pins[*n.Pin] = true
		}
		if n.Carried != nil {
			brought, most = true, max(most, n.Carried.Spec.MaxNodes)
		}
	}
	if !brought {
		return len(nodes) >= most && t.job.NextRound == 0
	}
	for rank := range most {
		if !pins[rank] {
			return false
		}
	}
	return true
}

// tooFew waits for more nodes, and ends the run when they do not come in time.
func (t *turn) tooFew(candidates []named, a assignment) Decision {
	if !t.job.QuorumSince.IsZero() { // somebody has gone during the last call
		t.job.QuorumSince = time.Time{}
		return t.write(ActGather)
	}
	text := fmt.Sprintf("%d of %d nodes are there", len(candidates), t.job.Spec.MinNodes)
	switch {
	case len(a.missing) > 0:
		text += "; missing: " + list(a.missing)
	case len(candidates) > 0: // nothing tells who the others are: no round's record, no pins
		text += ": " + list(names(candidates))
	}
	if refused := t.refused(); len(refused) > 0 {
		text += "; not counted, for their spec or run differs: " + list(refused)
	}
	if len(a.spare) > 0 && len(a.missing) > 0 {
		text += "; without a place, for their rank is taken or too high: " + list(a.spare)
	}
	deadline := t.since().Add(t.job.Spec.JoinTimeout.of())
	if t.job.Spec.JoinTimeout == 0 || t.now.Before(deadline) {
		if t.job.Spec.JoinTimeout == 0 {
			deadline = time.Time{}
		}
		return t.wait(deadline, WaitsForNodes, a.missing, "%s", text)
	}
	t.end(Failed, End{
		Verdict: exitcodes.Retry, Reason: exitcodes.ReasonRendezvousTimeout, Code: exitcodes.CodeRendezvousTimeout,
		Message: fmt.Sprintf("after %v: %s", t.job.Spec.JoinTimeout.of(), text),
	})
	return t.write(ActFail)
}

func names(nodes []named) (list []string) {
	for _, n := range nodes {
		list = append(list, n.name)
	}
	return list
}

// waitForCheckpoints waits for nodes that have yet to say what they can resume from, and ends the run when one cannot
// tell for as long as a missing node may be missing: not to know is no reason to start over.
func (t *turn) waitForCheckpoints(waiting []string, why string) Decision {
	text := "looking for checkpoints: " + list(waiting)
	if why != "" {
		text = "it is unknown which checkpoints exist; " + why
	}
	timeout := t.job.Spec.JoinTimeout.of()
	deadline := t.since().Add(timeout)
	switch {
	case timeout == 0:
		return t.wait(time.Time{}, WaitsForCheckpoints, waiting, "%s", text)
	case t.now.Before(deadline):
		return t.wait(deadline, WaitsForCheckpoints, waiting, "%s", text)
	}
	t.end(Failed, End{
		Verdict: exitcodes.Retry, Reason: exitcodes.ReasonRendezvousTimeout, Code: exitcodes.CodeRendezvousTimeout,
		Message: fmt.Sprintf("after %v: %s", timeout, text),
	})
	return t.write(ActFail)
}

// refused lists the nodes that are there but cannot take part.
func (t *turn) refused() (list []string) {
	hash := t.hash()
	for _, e := range t.entries() {
		if t.present(e.NodeEntry) && (e.SpecHash != hash || !e.of(t.job.RunUID)) {
			list = append(list, e.name)
		}
	}
	return list
}

// lastCall gives those a chance who come a little later.
func (t *turn) lastCall(there int) (Decision, bool) {
	wait := t.job.Spec.LastCallRestart.of()
	if t.job.NextRound == 0 || t.Round != nil && t.Round.RunUID != t.job.RunUID { // the run's first
		wait = t.job.Spec.LastCall.of()
	}
	if wait == 0 {
		return Decision{}, false
	}
	if t.job.QuorumSince.IsZero() || t.job.QuorumSince.After(t.now) {
		t.job.QuorumSince = t.now.UTC()
		d := t.write(ActCall)
		d.Next = t.now.Add(wait)
		return d, true
	}
	until := t.job.QuorumSince.Add(wait)
	if t.now.Before(until) {
		return t.wait(until, WaitsForTime, nil, "last call: %d of at most %d nodes are there, starting at %s",
			there, t.job.Spec.MaxNodes, until.Format(time.TimeOnly)), true
	}
	return Decision{}, false
}

// form begins a round. The round's record and the job's are written in one transaction: a leader that died between two
// would block the round for ever.
func (t *turn) form(a assignment) Decision {
	t.job.Reached = reached(t.job.Reached, a.chosen)
	resume, err := t.chooseResume(a.chosen)
	if err != nil {
		t.end(Failed, End{
			Verdict: exitcodes.Fatal, Reason: exitcodes.ReasonCheckpointUnusable, Code: exitcodes.CodeCheckpointUnusable,
			Message: err.Error(),
		})
		return t.write(ActFail)
	}
	j := t.job
	j.NextRound = t.nextRound()
	r := &Round{
		V: version, Store: t.Token, RunUID: j.RunUID, Number: j.NextRound, Resume: resume, At: t.now.UTC(),
		Fence: j.Spec.Fence, MasterAddr: a.chosen[0].Address, MasterPort: a.chosen[0].Port,
	}
	chosen := make(map[string]bool, len(a.chosen))
	for _, c := range a.chosen {
		chosen[c.name] = true
		r.Members = append(r.Members, Member{
			Name: c.name, Incarnation: c.Incarnation, Role: c.Role, Slots: c.Slots,
			BootID: c.BootID, PIDNS: c.PIDNS, Unique: c.Unique, Host: c.Host,
		})
	}
	dropped := j.Round - 1
	j.Round, j.NextRound, j.MembersGone = j.NextRound, j.NextRound+1, false
	if resume.Step != nil {
		if resume.Decision == ResumeFallback {
			j.Reached = resume.Step // on purpose
		}
		if m := &j.Budget.Mark; m.Checkpoint == nil || *m.Checkpoint < *resume.Step {
			m.Checkpoint = resume.Step // what was there before is no progress
		}
	}
	j.Suspend, j.NotBefore = false, time.Time{}
	j.Save = nil
	j.enter(Running, t.now)
	d := t.write(ActForm)
	d.Round, d.DropRound, d.Remove = r, dropped, t.departed(chosen)
	return d
}
