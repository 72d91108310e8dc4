package agent

import (
	"context"
	"errors"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// check compares what the node knows with the store, once in the time of a renewal: its own key and the job's record,
// in one small read, which takes along how far the workers have come when that is due. Updates can be missed, and a
// key can be deleted or overwritten by anybody while the lease lives; nothing else would ever show it.
type check struct {
	results chan checked
	busy    bool
	at      time.Duration // when the next is due
	doubt   bool          // the last one has found a difference, which may have been an update on its way
	reached reached       // how far the workers have come, as the store has it
}

type checked struct {
	ok       bool
	err      error
	own, job int64   // the revisions that were compared
	reached  reached // what was written besides
}

// compare begins a check when one is due, and the node's key is as this node has left it.
func (n *node) compare() {
	c, w := &n.check, &n.writer
	if c.busy || n.clock() < c.at || !n.settled() {
		return
	}
	c.busy, c.at = true, n.clock()+n.link.lease.TTL()/3
	out := checked{own: w.expect, job: n.jobRev, reached: c.reached}
	txn := store.Txn{Token: n.record.Store, If: []store.Cond{
		store.Unchanged(nodesKey+store.Escape(n.cfg.Name), out.own), store.Unchanged(jobKey, out.job),
	}}
	if now := n.reachedNow(); now.due(c.reached) {
		txn.Then, out.reached = []store.Op{n.putReached(now)}, now
	}
	st := n.link.store
	crash.Go(func() {
		ctx, cancel := context.WithTimeout(n.ctx, writeTime)
		defer cancel()
		var res store.Result
		res, out.err = st.Commit(ctx, txn)
		out.ok = res.OK
		c.results <- out
	})
}

// compareNow does so out of turn.
func (n *node) compareNow() {
	n.check.at = 0
	n.compare()
}

// settled reports whether the node's key is there and nothing of it is being written.
func (n *node) settled() bool {
	w := &n.writer
	return w.claimed && !w.busy && !w.dirty && !w.rejoin && !n.ended && n.link.lease != nil && n.record.Store != ""
}

// checked handles what a check has shown. A difference may be an update that is on its way; when it is there still a
// moment later, everything is read again, and the key put back.
func (n *node) checked(c checked) {
	n.check.busy = false
	if errors.Is(c.err, store.ErrFull) {
		n.tookWrite(c.err)
	}
	if c.err == nil && c.ok {
		n.check.reached = c.reached
	}
	switch {
	case errors.Is(c.err, store.ErrChanged):
		n.writer.rejoin, n.writer.claimed, n.writer.dirty = true, false, true
		return
	case c.err != nil, !n.settled(), c.own != n.writer.expect, c.job != n.jobRev:
		return // the renewals tell of a store that does not answer; the rest has changed meanwhile
	case c.ok:
		n.check.doubt = false
		return
	case !n.check.doubt:
		n.check.doubt, n.check.at = true, n.clock()+tick
		return
	}
	n.check.doubt = false
	n.log.Warn("this node's view of the store is out of date: rereading it")
	n.writer.rejoin, n.writer.dirty = true, true
}
