package agent

import (
	"strconv"
	"strings"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
)

// actRestore is what the leader does about a record that somebody has deleted.
const actRestore rendezvous.Action = "Restore"

// deletedRound is the record of the current round where it has gone from the store and this node remembers it; else
// nil. Nothing but a deletion by hand takes it away. Without it nobody can tell whose workers may still run, so that no
// later round could begin for a while; and since a round's record never changes, putting it back is always right. That
// of a job that has ended goes with it.
func (l *leader) deletedRound() *rendezvous.Round {
	j, r := l.view.Job, l.newest.Load()
	if j == nil || j.End != nil || l.view.Round != nil || l.view.Rev < l.view.Read || r == nil ||
		r.Store != l.view.Token || r.RunUID != j.RunUID || r.Number != j.Round {
		return nil
	}
	return r
}

// wentBack reports whether there is an earlier record of the job in the store than is known of it. Nobody writes that:
// the store was restored from a backup.
func wentBack(known, there *rendezvous.Job) bool {
	return known != nil && known.Store == there.Store && known.RunUID == there.RunUID && known.Newer(there)
}

// deletedJob is the job's record where it has gone from the store, or there is an earlier one instead, and this node
// remembers it; else nil. Until the time after the job's end is over, nothing but a deletion by hand takes it away. To
// start over instead would count the rounds from the first again, and cost restarts that nobody has failed for.
func (l *leader) deletedJob() *rendezvous.Job {
	if l.view.Rev < l.view.Read {
		return nil
	}
	if l.view.Job != nil {
		if j := l.heard.Load(); wentBack(j, l.view.Job) && (j.End == nil || keepFor(j, l.now()) > 0) {
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
	if newest == nil || newest.End != nil && keepFor(newest, l.now()) <= 0 {
		return nil
	}
	return newest
}

// keepFor is for how long the record of a job that has ended is still to be kept. Until then nothing but a deletion by
// hand takes it away: its lease was made after the record.
func keepFor(j *rendezvous.Job, now time.Time) time.Duration {
	return max(time.Duration(j.Spec.TTL), time.Minute) - now.Sub(j.At)
}

// beginsAnew is when a job without a record may begin. Where there is a round's record, somebody has deleted that of
// the job, and this leader does not remember it: who is cut off from the store may still run.
func (l *leader) beginsAnew(now time.Time, fence time.Duration) time.Time {
	left := false
	l.view.FirstRound = 0
	for key := range l.rows {
		number, isRound := strings.CutPrefix(key, roundsKey)
		if !isRound {
			continue
		}
		left = true
		if n, err := strconv.Atoi(number); err == nil { // nodes that have read it take no earlier one
			l.view.FirstRound = max(l.view.FirstRound, n+1)
		}
	}
	switch {
	case !left:
		l.headless = time.Time{}
		return now
	case l.headless.IsZero():
		l.headless = now
	}
	until := l.headless.Add(fence)
	l.say(rendezvous.WhyNot{For: rendezvous.WaitsForRecord, Text: "the job's record was deleted, and no leader " +
		"remembers it: the job starts over at " + until.UTC().Format(time.TimeOnly) + ", when nothing of it can still run"})
	return until
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
	// Its farewell may be gone, too, and it would count as lost; and who starts over is to give no number twice.
	n.writer.dirty = n.writer.dirty || n.partBy != 0 || n.record.Next != n.nextHeard()
	if n.older {
		n.log.Warn("the store has gone back to an earlier record of the job, as one that was restored from a backup",
			"round", n.reading.Job.Round)
		if n.link.lease != nil {
			n.link.startLead(n) // who leads knows a state that is no more
		}
	}
	time.AfterFunc(n.goneFor(), func() { n.report((*node).stillGone) })
}

// numbered is how far the rounds of a store are numbered: the next one's number, as of the highest that was heard of. It
// outlasts the record, and the run.
type numbered struct {
	store string
	next  int
}

func (h *numbered) hear(j *rendezvous.Job) {
	if j.Store != h.store {
		*h = numbered{store: j.Store}
	}
	h.next = max(h.next, j.NextRound)
}

// nextHeard is the number of the next round, where the node's record does not show it by the last round that it was in.
func (n *node) nextHeard() int {
	if h := n.numbered; h.store == n.record.Store && h.next > n.record.Round+1 {
		return h.next
	}
	return 0
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
	if n.goneAt == 0 {
		return
	}
	if left := n.goneFor() - (n.clock() - n.goneAt); left > 0 { // an earlier record has come since
		time.AfterFunc(left, func() { n.report((*node).stillGone) })
		return
	}
	n.goneAt, n.reading.Job, n.reading.Round = 0, nil, nil
	n.writer.dirty = true // whoever starts over needs the spec that its key tells
	if n.older {
		n.older, n.writer.rejoin, n.writer.dirty = false, true, true
	}
}
