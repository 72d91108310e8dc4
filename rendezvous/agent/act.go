package agent

import (
	"time"

	"github.com/gangrun/gangrun/rendezvous"
)

// act does what the node's half of the protocol asks for now, until it asks to wait.
func (n *node) act() {
	at := n.clock()
	n.guard()
	if n.ended {
		n.part(at)
		n.write()
		return
	}
	n.room(at)
	n.giveUp(at)
	n.look(at)
	for !n.ended && n.known() {
		n.self.State, n.self.Round, n.self.Leaving = n.record.State, n.record.Round, n.record.Leaving
		n.self.Again, n.self.Asks = n.alone.due(at), n.record.Asks
		step := rendezvous.React(n.self, n.reading, at)
		if !n.do(step, at) {
			break
		}
	}
	n.sayOverlap()
	n.saves()
	if n.record.Spec == nil && n.goneAt == 0 && n.spec() != nil { // the job's record had the same; this is another job's
		n.writer.dirty = true
	}
	n.write()
}

// known reports whether there is anything to react to: the node has read the store, or has workers to guard, or goes.
func (n *node) known() bool { return n.reading.Store != "" || n.record.Leaving }

// do does one step and reports whether there may be another at once.
func (n *node) do(step rendezvous.Step, at time.Duration) bool {
	switch step.Do {
	case rendezvous.ActStart:
		return n.start(step)
	case rendezvous.ActHalt:
		n.halt(step, at)
	case rendezvous.ActAcknowledge:
		n.record.State, n.record.Round = rendezvous.NodeStopped, step.Round
		n.record.Outcome, n.record.OutcomeRev = nil, 0
		n.writer.dirty = true
		return true
	case rendezvous.ActRejoin:
		n.rejoin()
		return true
	case rendezvous.ActReturn:
		n.record.ReopenSeq = n.reading.Job.Seq
		n.self.ReopenSeq = n.record.ReopenSeq
		n.writer.dirty = true
		return true
	case rendezvous.ActLeave:
		n.left(*step.End)
	case rendezvous.ActWait:
		switch {
		case n.lostAt != 0:
			n.sayUnreachable()
		case n.fullSaid != 0: // that is what all the rest waits for
		case n.writer.notOurs != "":
			n.say(n.writer.notOurs)
		default:
			n.sayWaits(step.Why + n.banned() + n.backoff() + n.newStore())
		}
	}
	return false
}

// rejoin starts over in a store that is not the one the node was in, and brings what it knows.
func (n *node) rejoin() {
	if n.record.Store != "" {
		n.log.Warn("the store is a different one than before: rejoining")
		n.record.Carried = n.earlierJob
		if j := n.lastJob; j != nil && j.Store != n.reading.Store {
			n.record.Carried = j
		}
	}
	if n.newSince = (time.Time{}); n.cfg.Volatile && (n.record.Store != "" || n.record.Carried != nil) {
		n.newSince = n.now()
	}
	n.record.Store, n.self.Store = n.reading.Store, n.reading.Store
	n.record.State, n.record.Round = rendezvous.NodeWaiting, -1
	n.record.Outcome, n.record.OutcomeRev, n.record.ReadSeq, n.record.ReopenSeq = nil, 0, 0, 0
	n.record.Checkpoints = nil // what it was asked for was another record
	n.self.Joined, n.self.ReopenSeq = 0, 0
	if n.reading.Job != nil {
		n.self.Joined = n.reading.Job.Seq
	}
	n.writer.dirty = true
}

// guard keeps the two clocks that the workers depend on up to date.
func (n *node) guard() {
	if n.link.lease == nil {
		return
	}
	n.self.Guard.Sent = n.link.renewed
	if r := n.link.lease.Renewed(); r > n.self.Guard.Sent {
		n.self.Guard.Sent = r
		n.link.renewed = r
	}
	n.self.Guard.Lease, n.self.Guard.StopTime = n.link.lease.TTL(), n.cfg.StopTime
	if n.self.Guard.Fence == 0 {
		n.self.Guard.Fence = time.Duration(n.cfg.Spec.Fence)
	}
	n.mayStart.Store(int64(n.self.Guard.StopAt()))
	switch now := n.clock(); {
	case n.lostAt == 0 && now-n.link.renewed >= n.link.lease.TTL():
		n.lost()
	case n.link.renewed > n.lostAt: // a renewal that was sent since has been answered
		n.found()
	}
}
