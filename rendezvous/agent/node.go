package agent

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous"
)

// node is the node's half. Its goroutine owns it.
type node struct {
	*Agent
	ctx context.Context

	self    rendezvous.Self
	record  rendezvous.Node
	reading rendezvous.Reading
	// readRev is the revision as of which the job is known, from a transaction or the watch: older news is dropped.
	readRev int64
	lists   map[string]*rendezvous.MemberList // that were read, by name
	round   *rendezvous.Round                 // the newest that was heard of

	fetching string            // the list of members that is being read
	unlisted *rendezvous.Round // the newest that waits for such a list; nil: none does
	missedAt int64             // the Seq of the record whose round was not there at the last tick
	numbered numbered

	jobRev int64         // the revision of the job's record that was read last; 0: there was none
	goneAt time.Duration // since when that is missing which reading still has; 0: it is not
	older  bool          // there is an earlier one instead
	hashed hashed        // the spec of the record that was read last

	link        link
	writer      writer
	check       check
	checkpoints checkpoints
	pending     []Order          // to be given out
	started     bool             // an order to start is out, and Gone has not answered it
	asked       bool             // an order to tell how far the workers are is out
	saving      bool             // an order to save is out
	halted      bool             // an order to stop is out
	expedited   bool             // and one to expedite
	cutOff      bool             // it was because the store could not be reached
	overlapSaid bool             // another round has begun beside the workers, and that was said
	late        rendezvous.Guard // as it was then; a new lease may come before the workers are gone
	ended       bool             // an order to end is out or pending
	partBy      time.Duration    // the farewell is in the store, and the node goes then at the latest; 0 before
	ports       ports
	alone       alone
	recalling   bool // it is not known yet what the node brings
	recalled    bool // what it brings was kept beside the checkpoints

	wake     chan struct{} // poked when it is time to try again
	why      string        // the last reason to wait
	whySince time.Time
	saidAt   time.Time     // when it was last logged
	lostSaid bool          // and somebody was told
	fullSaid time.Duration // when it was last logged that the store is full; 0: it is not
	lostAt   time.Duration // since when nothing was heard of the store, with no workers; 0: it is there
	lastJob  *rendezvous.Job
	// earlierJob is the last record of an earlier store, once one of another store was read.
	earlierJob *rendezvous.Job
	newSince   time.Time // since when it is in a store that took the place of another one; zero: it is in none
	unusable   string    // what was last said about a record that cannot be read
}

func newNode(a *Agent, ctx context.Context) *node {
	n := &node{Agent: a, ctx: ctx, record: a.cfg.Node, wake: make(chan struct{}, 1), lists: map[string]*rendezvous.MemberList{}}
	n.record.V = 1
	n.record.State, n.record.Round = rendezvous.NodeWaiting, -1
	n.record.SpecHash = a.cfg.Spec.Hash()
	n.self = rendezvous.Self{
		Name: a.cfg.Name, Incarnation: a.cfg.Node.Incarnation, RunUID: a.cfg.Node.RunUID, Spec: a.cfg.Spec,
		State: rendezvous.NodeWaiting, Round: -1, Role: a.cfg.Node.Role,
	}
	n.link.leases = make(chan leased)
	n.checkpoints = checkpoints{results: make(chan func(*node)), round: -1}
	n.writer.work, n.writer.results = make(chan func(), 1), make(chan written, 1)
	n.check = check{results: make(chan checked, 1), at: n.clock() + time.Duration(rand.Int64N(int64(a.cfg.Lease)/3))}
	return n
}

// tick bounds how long the node goes without looking at the clock: timers stand still while the machine sleeps, and the
// guard's clock does not.
const tick = time.Second

func (n *node) run() {
	defer n.finish()
	crash.Go(n.writer.wait)
	defer close(n.writer.work)
	ticks := n.cfg.Timer(tick)
	defer ticks.Close()
	n.reservePort()
	n.recall()
	n.lost()
	n.link.connect(n)
	for {
		n.act()
		var out chan Order
		var order Order
		if len(n.pending) > 0 {
			out, order = n.orders, n.pending[0]
		}
		select {
		case <-n.ctx.Done():
			return
		case out <- order:
			n.pending = n.pending[1:]
		case report := <-n.reports:
			report(n)
		case l := <-n.link.leases:
			n.leased(l)
		case <-n.link.lost():
			n.leaseLost()
			n.link.drop()
			n.link.connect(n)
		case u, ok := <-n.link.job:
			n.jobUpdate(u, ok)
		case c := <-n.check.results:
			n.checked(c)
		case w := <-n.writer.results:
			n.written(w)
		case result := <-n.checkpoints.results:
			result(n)
		case <-n.wake:
		case <-ticks.C:
			ticks.Reset(tick)
			n.missing()
			n.compare()
		}
	}
}

// missing reads again what should have come a tick ago: the round that the job's record speaks of. Who has missed it
// until it stops has to say, too, that nothing of it runs.
func (n *node) missing() {
	if !n.lacksRound() {
		n.missedAt = 0
		return
	}
	if j := n.reading.Job; n.fetching != "" || n.missedAt != j.Seq { // it may be on its way
		n.missedAt = j.Seq
		return
	}
	n.writer.rejoin, n.writer.dirty = true, true
}

// lacksRound reports whether the job's record speaks of a round that the node does not know.
func (n *node) lacksRound() bool {
	j, r := n.reading.Job, n.reading.Round
	return j != nil && (j.Phase == rendezvous.Running || j.Phase == rendezvous.Stopping) &&
		!(r != nil && r.Number == j.Round && r.RunUID == j.RunUID)
}

// finish gives back what the node holds.
func (n *node) finish() {
	n.ports.current.Release()
	n.ports.next.Release()
	n.link.close()
	if k := n.keeper.Load(); k != nil {
		k.close()
	}
}
