package agent

import (
	"context"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// The keys of a job.
const (
	jobKey    = "job"
	roundsKey = "rounds/"
	lists     = "members/"
	nodesKey  = "nodes/"
	progress  = "progress/"
	controls  = "control/"
)

// link is a node's connection to the store: its lease, and what it watches.
type link struct {
	store   store.Store // nil until it was reached
	leases  chan leased // without a buffer: what was sent, the node has
	lease   store.Lease // nil: none at the moment
	renewed time.Duration
	err     error // the last that kept us from the store
	joining bool
	joined  chan struct{} // closed when the goroutine of connect has ended
	heard   bool          // the watch has begun

	job <-chan store.Update

	stopLead context.CancelFunc
	leadDone chan struct{}
}

// leased is a lease in a store, or why there is none.
type leased struct {
	store store.Store
	lease store.Lease
	err   error
}

// giveBack ends the lease, and closes the store where that was opened for it.
func (l leased) giveBack(opened bool) {
	if l.lease != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		_ = l.lease.Close(ctx) // else it expires
	}
	if opened {
		_ = l.store.Close() // nobody is left to be told
	}
}

// The pauses between attempts to reach the store.
const (
	retryFirst = 50 * time.Millisecond
	retryMost  = 2 * time.Second
)

// connect opens the store, unless it is, and asks for a lease, again and again, in a goroutine of its own. Errors that
// will not go away end it. What the node no longer takes, as it ends, is given back.
func (l *link) connect(n *node) {
	if l.joining {
		return
	}
	l.joining = true
	s, joined := l.store, make(chan struct{})
	l.joined = joined
	crash.Go(func() {
		defer close(joined)
		opened := false // and the node does not know of it
		for pause := retryFirst; ; pause = min(2*pause, retryMost) {
			out := leased{store: s}
			if s == nil {
				out.store, out.err = n.cfg.Connect(n.ctx)
				s, opened = out.store, out.store != nil
			}
			if s != nil {
				out.lease, out.err = s.Join(n.ctx, n.cfg.Lease)
			}
			select {
			case l.leases <- out:
				opened = false
			case <-n.ctx.Done():
				out.giveBack(opened)
				return
			}
			if out.err == nil || permanent(out.err) {
				return
			}
			select {
			case <-time.After(pause):
			case <-n.ctx.Done():
				return
			}
		}
	})
}

// follow begins to watch the store, once.
func (l *link) follow(n *node, s store.Store) {
	if l.store != nil {
		return
	}
	l.store = s
	l.job = s.Watch(n.ctx, jobKey).Updates()
}

// lost is closed when the lease is; it blocks while there is none.
func (l *link) lost() <-chan struct{} {
	if l.lease == nil {
		return nil
	}
	return l.lease.Lost()
}

// drop forgets a lease that is lost.
func (l *link) drop() {
	l.lease = nil
	l.endLead()
}

func (l *link) endLead() {
	if l.stopLead != nil {
		l.stopLead()
		<-l.leadDone
		l.stopLead = nil
	}
}

// closeTime bounds how long the end of a node waits for the store to take its lease back.
const closeTime = 2 * time.Second

func (l *link) close() {
	l.endLead()
	select {
	case <-l.joined:
	case <-time.After(closeTime): // an attempt to reach the store goes on
	}
	leased{store: l.store, lease: l.lease}.giveBack(l.store != nil)
}

// leased handles a new lease, or why there is none.
func (n *node) leased(l leased) {
	if l.store != nil {
		n.link.follow(n, l.store)
	}
	n.tookWrite(l.err)
	if l.err != nil {
		n.link.err = l.err
		if permanent(l.err) {
			n.refuse(l.err)
		} else if n.full.Load() == nil { // room says that
			n.sayUnreachable()
		}
		return
	}
	n.link.joining = false
	n.link.lease = l.lease
	// The key goes back together with a reading of the job: what was heard by an old watch may be out of date.
	n.writer.rejoin = true
	n.writer.dirty = true
	n.link.startLead(n)
}

// jobUpdate handles an update of the job's record.
func (n *node) jobUpdate(u store.Update, ok bool) {
	if !ok {
		n.link.job = nil
		return
	}
	again := u.Reset && n.link.heard
	n.link.heard = true
	if again { // something may have been missed
		n.writer.rejoin, n.writer.dirty = true, true
		return
	}
	if !n.writer.claimed || u.Rev <= n.readRev && u.Token == n.reading.Store {
		return
	}
	if u.Token != "" && u.Token != n.reading.Store {
		n.writer.rejoin, n.writer.dirty = true, true
		return
	}
	n.readRev = u.Rev
	for _, d := range u.Deleted {
		if d.Key == jobKey {
			n.jobRev = 0
			n.jobGone()
		}
	}
	for _, kv := range u.Changed {
		n.readJob(kv, n.reading.Job)
		if n.older {
			n.jobGone()
		}
	}
	if n.lacksRound() && n.fetching == "" { // whoever leads has not written it along
		n.writer.rejoin, n.writer.dirty = true, true
	}
}
