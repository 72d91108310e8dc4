package rendezvous

import (
	"cmp"
	"slices"
	"time"
)

// Decide is the job's transition function: what the leader does next, given all that it knows. It is pure and total; the
// same view at the same time leads to the same decision. The caller folds what it has seen into View.Observations first
// (Observe), writes the decision in one transaction that compares View.JobRev and the leader's own election key, and
// asks again when the view has changed or Decision.Next has come.
func Decide(v View, now time.Time) Decision {
	t := newTurn(v, now)
	d := t.decide()
	if d.Action == ActWait && t.hosts != nil { // what was counted is to last, whatever becomes of who has told of it
		hosts := t.hosts
		t = newTurn(v, now)
		t.hosts = hosts
		return t.write(ActBlame)
	}
	return d
}

func (t *turn) decide() Decision {
	v := t.View
	if v.Rev < v.Read {
		return t.wait(time.Time{}, WaitsForWatch, nil,
			"the watch has come to revision %d, the store is at %d", v.Rev, v.Read)
	}
	if d, ok := t.adopt(); ok {
		return d
	}
	if t.job == nil {
		return t.begin()
	}
	if v.Job.Round >= 0 && (v.Round == nil || v.Round.Number != v.Job.Round) {
		if d, ok := t.withoutRound(); ok {
			return d
		}
	}
	t.countFaults()
	if d, ok := t.commands(); ok {
		return d
	}
	if d, ok := t.rerun(); ok {
		return d
	}
	switch t.job.Phase {
	case Forming:
		return t.forming(t.members())
	case Running:
		return t.running(t.members())
	case Stopping:
		return t.stopping(t.members())
	case Suspended:
		return t.suspended(t.members())
	}
	return t.finished(t.members())
}

// founder is the oldest node that could begin a run and is not of the given one.
func (t *turn) founder(not string) (named, bool) {
	var oldest named
	found := false
	for name, e := range t.Nodes { // unsorted: this runs at every decision
		if e.Spec == nil || !t.present(e) || !e.gone() || not != "" && e.of(not) {
			continue
		}
		if !found || cmp.Or(cmp.Compare(e.CreateRev, oldest.CreateRev), cmp.Compare(name, oldest.name)) < 0 {
			oldest, found = named{name, e}, true
		}
	}
	return oldest, found
}

// begin creates the job's first record, with the spec of the oldest node.
func (t *turn) begin() Decision {
	first, found := t.founder("")
	if !found {
		return t.wait(time.Time{}, WaitsForNodes, nil, "no node has joined yet")
	}
	t.job = t.fresh(first, t.FirstRound)
	return t.write(ActCreate)
}

// fresh is the first record of a run that the node begins.
func (t *turn) fresh(first named, next int) *Job {
	uid := first.RunUID
	if uid == "" {
		uid = "run-" + first.Incarnation
	}
	j := &Job{V: version, Store: t.Token, RunUID: uid, Round: -1, NextRound: next, Spec: *first.Spec}
	j.enter(Forming, t.now)
	return j
}

// rerun begins another run of the job where a node has come for one. While the older run has live members it waits.
func (t *turn) rerun() (Decision, bool) {
	first, found := t.founder(t.job.RunUID)
	if t.job.Phase.finished() {
		if reopener, ok := t.reopener(); ok && reopener.RunUID == "" && reopener.Spec != nil && !found {
			first, found = reopener, true
		}
	}
	if !found || t.job.Suspend || t.live(first) {
		return Decision{}, false
	}
	old := t.job
	t.job = t.fresh(first, old.NextRound)
	t.job.Round, t.job.Seq, t.job.MembersGone = old.Round, old.Seq, true
	t.job.SinceSeq, t.job.Clock = old.Seq+1, old.Clock
	t.job.History, t.job.Handled = old.History, old.Handled
	return t.write(ActRerun), true
}

// live reports whether a node of the current run is still there, or a member may still have workers.
func (t *turn) live(newcomer named) bool {
	for _, m := range t.members() {
		if !m.standing.out() {
			return true
		}
	}
	for _, e := range t.entries() {
		if e.name != newcomer.name && e.Leased && e.Store == t.Token && e.RunUID == t.job.RunUID &&
			!t.reopens(e.NodeEntry) {
			return true
		}
	}
	return false
}

// lastWords is why the round of a record from an earlier store has ended, where nobody has judged that: its leader had
// decided to stop it, or would have once all had saved, or the store went with the node that hosted it, without a word.
// That must not loop for ever, so it is charged.
func lastWords(j *Job, now time.Time) (cause Stop, unjudged bool) {
	switch {
	case j.saving():
		return j.Save.stop(now), true
	case j.Phase == Running:
		return Stop{
			Round: j.Round, Kind: StopLoss, Reason: ReasonNodeLost, At: now.UTC(),
			Message: "the node that hosted the store has gone without a word",
		}, true
	case j.Phase == Stopping && !j.Stop.Judged:
		return *j.Stop, true
	}
	return Stop{}, false
}

// adopt takes over a newer record of the job that a node has brought from an earlier store.
func (t *turn) adopt() (Decision, bool) {
	var newest *Job
	for _, e := range t.Nodes {
		if b := e.Carried; b != nil && t.present(e) && b.Store != t.Token && (newest == nil || b.Newer(newest)) {
			newest = b
		}
	}
	if newest == nil || t.job != nil && !newest.Newer(t.job) {
		return Decision{}, false
	}
	here := t.job
	t.job = newest.clone()
	t.job.Round, t.job.MembersGone, t.job.Save = -1, false, nil
	if left := newest.pause(); left > 0 {
		t.job.NotBefore = t.now.Add(left).UTC()
	}
	t.broughtBans()
	phase := newest.Phase
	if here != nil {
		t.job.Round, t.job.MembersGone = here.Round, here.MembersGone
		t.job.NextRound, t.job.Seq = max(here.NextRound, newest.NextRound), max(here.Seq, newest.Seq)
		t.job.Handled = last(slices.Concat(newest.Handled, here.Handled), maxHandled)
		t.job.Suspend = t.job.Suspend || here.Suspend
	}
	switch {
	case phase.finished():
		t.job.Suspend = false
		t.job.enter(phase, t.now)
	case t.job.Round >= 0 && here.Phase != Forming && here.Phase != Suspended:
		t.job.Stop = &Stop{
			Round: t.job.Round, Kind: StopAdopt, At: t.now.UTC(), Judged: true,
			Message: "a newer record of this job has turned up",
		}
		t.job.enter(Stopping, t.now)
	default:
		if cause, unjudged := lastWords(newest, t.now); unjudged && !t.judge(cause, nil) {
			break // the run has ended with it
		}
		if phase == Suspended || t.job.Suspend { // or was about to be: nothing of it runs in this store
			t.job.enter(Suspended, t.now)
			t.job.SinceSeq = 0 // whoever is there has come since: it waits instead of leaving
			break
		}
		t.job.enter(Forming, t.now)
	}
	return t.write(ActAdopt), true
}
