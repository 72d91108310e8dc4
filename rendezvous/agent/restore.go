package agent

import (
	"time"

	"github.com/gangrun/gangrun/rendezvous"
)

// actRestore is what the leader does about a record that somebody has deleted.
const actRestore rendezvous.Action = "Restore"

// deletedRound is the record of the current round where it has gone from the store and this node remembers it; else
// nil. Nothing but a deletion by hand takes it away. Without it nobody can tell whose workers may still run, so that no
// later round could ever begin; and since a round's record never changes, putting it back is always right.
func (l *leader) deletedRound() *rendezvous.Round {
	j, r := l.view.Job, l.newest.Load()
	if j == nil || l.view.Round != nil || l.view.Rev < l.view.Read || r == nil ||
		r.Store != l.view.Token || r.RunUID != j.RunUID || r.Number != j.Round {
		return nil
	}
	return r
}

// wentBack reports whether there is an earlier record of the job in the store than is known of it. Nobody writes that: the
// store was restored from a backup.
func wentBack(known, there *rendezvous.Job) bool {
	return known != nil && known.Store == there.Store && known.RunUID == there.RunUID && known.Newer(there)
}

// deletedJob is the job's record where it has gone from the store, or there is an earlier one instead, and this node
// remembers it; else nil. Until the job has ended, nothing but a deletion by hand takes it away. To start over instead would
// count the rounds from the first again, and cost restarts that nobody has failed for.
func (l *leader) deletedJob() *rendezvous.Job {
	if l.view.Rev < l.view.Read {
		return nil
	}
	if l.view.Job != nil {
		if j := l.heard.Load(); wentBack(j, l.view.Job) {
			return j
		}
		return nil
	}
	if l.view.JobRev != 0 {
		return nil
	}
	var newest *rendezvous.Job
	for _, j := range []*rendezvous.Job{l.job.job, l.heard.Load()} {
		if j != nil && j.Store == l.view.Token && (newest == nil || j.Newer(newest)) {
			newest = j
		}
	}
	if newest == nil || newest.End != nil {
		return nil
	}
	return newest
}

// goneTime is how long a node waits for somebody to put back a job's record that was deleted, before it takes the job for
// gone.
const goneTime = time.Second

// jobGone takes note that there is no record of the job any more. What this node owes is written at once: whoever
// starts over has to see whose workers run.
func (n *node) jobGone() {
	if n.reading.Job == nil || n.goneAt != 0 {
		return
	}
	n.goneAt = max(n.clock(), 1)
	n.payOwed()
	if n.older {
		n.log.Warn("the store has gone back to an earlier record of the job, as one that was restored from a backup",
			"round", n.reading.Job.Round)
		if n.link.lease != nil {
			n.link.startLead(n) // who leads knows a state that is no more
		}
	}
	time.AfterFunc(n.goneFor(), func() { n.report((*node).stillGone) })
}

// goneFor is how long the record is waited for. That the store has gone back one node notices later than another.
func (n *node) goneFor() time.Duration {
	if n.older {
		return n.cfg.Lease
	}
	return goneTime
}

// stillGone takes the job for gone, if it is. What there is instead is read after that.
func (n *node) stillGone() {
	if n.goneAt == 0 || n.clock()-n.goneAt < n.goneFor() {
		return
	}
	n.goneAt, n.reading.Job, n.reading.Round = 0, nil, nil
	if n.older {
		n.older, n.writer.rejoin, n.writer.dirty = false, true, true
	}
}
