package rendezvous

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// suspended waits. A job that a command has suspended waits for the command to resume; one that all its nodes left
// continues with the first that comes. No time limit runs here.
func (t *turn) suspended(members []member) Decision {
	if t.job.Suspend {
		return t.wait(time.Time{}, WaitsForUser, nil, "the job is suspended; gangrun resume continues it")
	}
	var nodes []named
	for _, e := range t.entries() {
		if t.present(e.NodeEntry) && e.gone() && e.of(t.job.RunUID) {
			nodes = append(nodes, e)
		}
	}
	if len(nodes) == 0 {
		return t.wait(time.Time{}, WaitsForNodes, nil, "all nodes have left; the next one that joins resumes the job")
	}
	if until := t.NewSince.Add(t.job.Spec.Fence.of()); !t.NewSince.IsZero() && t.now.Before(until) && !t.wholeGang(nodes) {
		// What is left of the job comes meanwhile, and knows its spec.
		return t.wait(until, WaitsForStore, nil, "the store is new; nodes that knew an earlier one may come until %s",
			until.UTC().Format(time.TimeOnly))
	}
	t.resume()
	return t.write(ActResume)
}

// resume resumes a suspended job. Its spec may have changed meanwhile: that of the newest node counts. It changes
// the record only; the caller writes it.
func (t *turn) resume() {
	t.adoptSpec()
	t.job.NotBefore = time.Time{}
	t.job.enter(Forming, t.now)
}

// adoptSpec takes over the spec of the newest node that brings one.
func (t *turn) adoptSpec() {
	var rev int64
	for _, e := range t.entries() {
		if t.present(e.NodeEntry) && e.gone() && e.Spec != nil && e.of(t.job.RunUID) && e.CreateRev > rev {
			t.job.Spec, rev = *e.Spec, e.CreateRev
		}
	}
}

// finished keeps the record for those who come back to it. A run that ended with a verdict of retry is opened again,
// with its budget as it was, when a node of it comes back.
func (t *turn) finished(members []member) Decision {
	if e, found := t.reopener(); found && t.job.End.Verdict == exitcodes.Retry && e.RunUID == t.job.RunUID {
		t.adoptSpec()
		t.job.End, t.job.Suspend, t.job.NotBefore = nil, false, time.Time{}
		t.job.enter(Forming, t.now)
		return t.write(ActReopen)
	}
	expires := t.since().Add(t.job.Spec.TTL.of())
	if !t.now.Before(expires) {
		for _, e := range t.Nodes {
			if e.Leased {
				return t.wait(time.Time{}, WaitsForOthers, nil, "the job has ended, and not all nodes have read it")
			}
		}
		d := Decision{Action: ActForget, Forget: true, DropRound: -1}
		for _, e := range t.entries() {
			d.Remove = append(d.Remove, Removal{e.name, e.ModRev})
		}
		return d
	}
	if _, found := t.founder(t.job.RunUID); found {
		return t.wait(expires, WaitsForRun, nil, "an earlier run of this job has ended, and its nodes are still there")
	}
	return t.wait(expires, WaitsForOthers, nil, "the job has ended")
}

// reopener is a node that came to the finished record to train again.
func (t *turn) reopener() (named, bool) {
	for _, e := range t.entries() {
		if t.reopens(e.NodeEntry) && t.present(e.NodeEntry) && e.gone() {
			return e, true
		}
	}
	return named{}, false
}

// reopens reports whether the node found this very end when it came.
func (t *turn) reopens(e NodeEntry) bool {
	return t.job.Phase.finished() && e.ReopenSeq >= t.job.SinceSeq && e.ReopenSeq <= t.job.Seq
}
