package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// writer keeps the node's key as the record says. One write is under way at a time; what changes meanwhile goes with
// the next.
type writer struct {
	work    chan func() // one at a time, for the goroutine that waits for the store
	results chan written
	busy    bool
	dirty   bool   // the record has changed since the last write began
	owed    bool   // it has changed in a way that nobody waits for
	rejoin  bool   // the next write reads the job, too
	claimed bool   // the key is ours
	notOurs string // why the key cannot be claimed yet
	expect  int64
	under   store.Lease     // the lease that it was put under last
	last    *rendezvous.End // the last write is the farewell; this order follows
	retryAt time.Time
	pause   time.Duration
}

type written struct {
	store.Result
	err     error
	value   []byte
	outcome *rendezvous.Outcome
	rejoin  bool
	last    bool
	revoked bool  // it was no write: an earlier lease was revoked
	known   int64 // the revision that was known when it was sent
	lease   store.Lease
	reached reached // what was written besides
}

// writeTime bounds one write.
const writeTime = 5 * time.Second

// write begins a write if there is something to write and none is under way.
func (n *node) write() {
	w := &n.writer
	if n.self.Taken { // its key is another one's for good
		return
	}
	if !w.dirty || w.busy || n.recalling || n.link.lease == nil || n.ended && w.last == nil || time.Now().Before(w.retryAt) {
		return
	}
	if n.record.Store == "" && !w.rejoin {
		return
	}
	if w.rejoin && !w.claimed {
		n.claim()
		return
	}
	n.put()
}

// put writes the record into the key, which must be as we left it.
func (n *node) put() {
	w := &n.writer
	if j := n.reading.Job; n.recalled && j != nil && j.Round >= 0 {
		n.record.Carried, n.recalled = nil, false // the job lives: it knows more than any file
	}
	n.record.Spec, n.record.Next = n.spec(), n.nextHeard()
	value, err := rendezvous.Encode(&n.record)
	if err != nil {
		n.log.Error("the node's record cannot be written", "err", err)
		w.dirty = false
		return
	}
	key := nodesKey + store.Escape(n.cfg.Name)
	out := written{value: value, outcome: n.record.Outcome, rejoin: w.rejoin, last: w.last != nil, lease: n.link.lease}
	txn := store.Txn{Token: n.record.Store, If: []store.Cond{store.Unchanged(key, w.expect)}, Else: []string{key}}
	if out.last {
		txn.Then = []store.Op{store.Put(key, value)}
	} else {
		txn.Then = []store.Op{store.PutLeased(key, value, n.link.lease)}
	}
	if out.rejoin {
		txn.Read = []string{jobKey, roundsKey}
	}
	// Who failed is found by how far each node has come: its last word goes together with that.
	if now := n.reachedNow(); (n.record.Outcome != nil || n.record.State != rendezvous.NodeRunning) && now.round == n.record.Round &&
		now.differs(n.check.reached) {
		txn.Then, out.reached = append(txn.Then, n.putReached(now)), now
	}
	w.dirty, w.owed = false, false
	n.commit(txn, out)
}

// Bounds of how long a node puts off to write what nobody waits for.
const (
	owedEach = 10 * time.Millisecond // for each member
	owedMost = time.Second
)

// owe has the record written within a while, at another moment than those of the other members: just now the store is
// busy with telling them all what this node has heard already.
func (n *node) owe(members int) {
	n.writer.owed = true
	half := min(time.Duration(members)*owedEach, owedMost) / 2
	time.AfterFunc(half+rand.N(half+1), func() { n.report((*node).payOwed) })
}

// payOwed writes what is owed, if no other write has taken it along.
func (n *node) payOwed() {
	n.writer.dirty = n.writer.dirty || n.writer.owed
}

// claim reads who has the key, and which job there is, before the first write.
func (n *node) claim() {
	read := []string{nodesKey + store.Escape(n.cfg.Name), jobKey, roundsKey}
	n.commit(store.Txn{Read: read}, written{rejoin: true, lease: n.link.lease})
}

func (n *node) commit(txn store.Txn, out written) {
	n.writer.busy = true
	out.known = n.readRev
	st := n.link.store
	n.writer.work <- func() {
		ctx, cancel := context.WithTimeout(n.ctx, writeTime)
		defer cancel()
		out.Result, out.err = st.Commit(ctx, txn)
		n.writer.results <- out
	}
}

// wait does the work that waits for the store. It is one goroutine all the time: what a request needs of stack it would
// otherwise be given again, piece by piece, each time.
func (w *writer) wait() {
	for f := range w.work {
		f()
	}
}

// written handles the result of a write.
func (n *node) written(out written) {
	w := &n.writer
	w.busy = false
	if out.err != nil || out.value != nil && out.OK {
		n.tookWrite(out.err)
	}
	if out.err != nil {
		n.notWritten(out)
		return
	}
	if out.lease != n.link.lease {
		w.dirty = true // it was for a lease that is gone
		return
	}
	own, found := n.ownKey(out.Read)
	switch {
	case out.revoked:
		w.dirty = true
	case out.value == nil:
		n.mayClaim(out, own, found)
	case !out.OK:
		n.lostKey(out, own, found)
	default:
		n.wrote(out)
	}
}

// wrote goes on after a write that happened.
func (n *node) wrote(out written) {
	w := &n.writer
	w.claimed, w.expect, w.under, w.pause = true, out.Rev, out.lease, 0
	if out.reached.value != "" {
		n.check.reached = out.reached
	}
	if out.outcome != nil && n.record.Outcome != nil && n.record.OutcomeRev == 0 && !n.record.Outcome.Outranks(out.outcome) {
		n.record.OutcomeRev = out.Rev // later writes tell since when the outcome is known
	}
	if out.last {
		n.partBy = n.clock() + partTime
		time.AfterFunc(partTime, n.poke)
		return // part follows
	}
	if out.rejoin {
		n.read(out)
	}
}

// mayClaim looks at the key as it is before our first write. A live lease of another incarnation is never taken over;
// a key without one is a farewell, and is.
func (n *node) mayClaim(out written, own store.KV, found bool) {
	w := &n.writer
	w.expect = 0
	if found {
		w.expect = own.ModRev
		previous, err := rendezvous.ParseNode(own.Key, own.Value)
		switch {
		case err != nil && own.Leased: // somebody's whom this gangrun is too old to know
			n.notOurs("the key of this node's name holds something else: " + err.Error())
			return
		case err != nil:
			n.log.Warn("the key of this node's name held nothing that could be used, and was overwritten", "err", err)
		case previous.Incarnation == n.cfg.Node.Incarnation: // ours, from a write whose answer was lost
		case own.Leased && rendezvous.EndedHere(&n.cfg.Node, previous):
			n.revoke(own.Lease)
			return
		case own.Leased:
			n.notOurs("another incarnation of " + n.cfg.Name + " has the name; waiting until it is gone")
			return
		default:
			n.record.Replaces = &rendezvous.Farewell{Incarnation: previous.Incarnation, Round: previous.Round}
		}
	}
	n.read(out)
	if n.record.Store == "" {
		n.rejoin()
	}
	w.claimed, w.rejoin, w.dirty, w.notOurs = true, true, true, ""
}

// notOurs waits for the key of this node's name. As long as that lasts nothing else is said to be waited for: it is what
// all the rest waits for, too.
func (n *node) notOurs(why string) {
	n.writer.notOurs = why
	n.say(why)
	n.retry()
}

// revoke ends the lease of an earlier incarnation that has ended here: nobody has to wait until its time is over. Then
// the key is read again.
func (n *node) revoke(lease string) {
	n.log.Info("giving back the lease of an earlier gangrun of this name, which has ended here")
	n.writer.busy, n.writer.dirty = true, true
	out, st := written{revoked: true, lease: n.link.lease}, n.link.store
	n.writer.work <- func() {
		ctx, cancel := context.WithTimeout(n.ctx, writeTime)
		defer cancel()
		out.err = st.Revoke(ctx, lease)
		n.writer.results <- out
	}
}

// lostKey finds out why the key is not as we left it.
func (n *node) lostKey(out written, own store.KV, found bool) {
	w := &n.writer
	w.dirty = true
	w.rejoin = true
	if !found {
		if w.under == n.link.lease {
			n.log.Warn("this node's key was deleted: restoring it")
		}
		w.expect = 0
		if out.Token != n.record.Store && out.Token != "" {
			n.read(out)
		}
		return
	}
	previous, err := rendezvous.ParseNode(own.Key, own.Value)
	switch {
	case err == nil && previous.Incarnation == n.cfg.Node.Incarnation:
		w.expect = own.ModRev
	case err != nil:
		n.log.Warn("this node's key was overwritten: restoring it", "err", err)
		w.expect = own.ModRev
	default:
		n.self.Taken = true
	}
}

// read handles what a transaction has read of the job; older news is dropped from now on.
func (n *node) read(out written) {
	n.writer.rejoin = false
	if out.Token == n.reading.Store && out.Rev < n.readRev && out.Rev >= out.known { // the watch has overtaken this answer
		return
	}
	n.readRev, n.jobRev = out.Rev, 0
	before := n.reading
	n.reading = rendezvous.Reading{Store: out.Token}
	if n.round != nil && n.round.Store != out.Token { // else the watch may have brought it before this answer
		n.round = nil
	}
	for _, kv := range out.Read {
		switch {
		case kv.Key == jobKey:
			n.readJob(kv, before.Job)
		case strings.HasPrefix(kv.Key, roundsKey):
			n.readRound(kv)
		}
	}
	if (n.jobRev == 0 || n.older) && before.Store == out.Token && before.Job != nil {
		n.reading = before
		n.jobGone()
	}
}

func (n *node) ownKey(read []store.KV) (store.KV, bool) {
	for _, kv := range read {
		if kv.Key == nodesKey+store.Escape(n.cfg.Name) {
			return kv, true
		}
	}
	return store.KV{}, false
}

// notWritten tries again later, unless that is of no use.
func (n *node) notWritten(out written) {
	n.writer.dirty = true
	n.link.err = out.err
	switch {
	case errors.Is(out.err, store.ErrChanged): // look at it before anything is written there
		n.writer.rejoin, n.writer.claimed = true, false
	case errors.Is(out.err, store.ErrFull): // it answers; room tells of it
	case errors.Is(out.err, store.ErrLeaseLost):
		n.writer.rejoin = true
	case permanent(out.err):
		n.refuse(out.err)
		return
	case n.ctx.Err() == nil:
		n.lost()
		n.sayUnreachable()
	}
	n.retry()
}

// retry puts the next write off.
func (n *node) retry() {
	w := &n.writer
	w.dirty = true
	w.pause = min(max(2*w.pause, retryFirst), retryMost)
	w.retryAt = time.Now().Add(w.pause)
	time.AfterFunc(w.pause, n.poke)
}

// poke lets the node look again.
func (n *node) poke() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}
