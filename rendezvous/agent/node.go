package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/port"
	"github.com/gangrun/gangrun/rendezvous/store"
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
	round   *rendezvous.Round // the newest that was heard of, perhaps before the job's record

	link    link
	writer  writer
	pending []Order          // to be given out
	started bool             // an order to start is out, and Gone has not answered it
	halted  bool             // an order to stop is out
	cutOff  bool             // it was because the store could not be reached
	late    rendezvous.Guard // as it was then; a new lease may come before the workers are gone
	ended   bool             // an order to end is out or pending
	ports   ports

	wake     chan struct{} // poked when it is time to try again
	looked   int           // the round before which checkpoints were last looked for
	looking  bool
	why      string // the last reason to wait
	whySince time.Time
	saidAt   time.Time     // when it was last logged
	lostAt   time.Duration // since when nothing was heard of the store, with no workers; 0: it is there
	lastJob  *rendezvous.Job
	// earlierJob is the last record of an earlier store, once one of another store was read.
	earlierJob *rendezvous.Job
	unusable   string // what was last said about a record that cannot be read
}

// ports are what the node has reserved: for the round that runs, and for the next.
type ports struct {
	current, next *port.Port
}

func newNode(a *Agent, ctx context.Context) *node {
	n := &node{Agent: a, ctx: ctx, record: a.cfg.Node, looked: -1, wake: make(chan struct{}, 1)}
	n.record.V = 1
	n.record.State, n.record.Round = rendezvous.NodeWaiting, -1
	n.record.SpecHash = a.cfg.Spec.Hash()
	spec := a.cfg.Spec
	n.record.Spec = &spec
	n.self = rendezvous.Self{
		Name: a.cfg.Name, Incarnation: a.cfg.Node.Incarnation, RunUID: a.cfg.Node.RunUID, Spec: a.cfg.Spec,
		State: rendezvous.NodeWaiting, Round: -1,
	}
	n.link.leases, n.link.checkpoints = make(chan leased, 1), make(chan []int64, 1)
	n.writer.results = make(chan written, 1)
	return n
}

// tick bounds how long the node goes without looking at the clock: timers stand still while the machine sleeps, and the
// guard's clock does not.
const tick = time.Second

func (n *node) run() {
	defer n.finish()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	n.reservePort()
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
			n.lost()
			n.link.drop()
			n.link.connect(n)
		case u, ok := <-n.link.job:
			n.jobUpdate(u, ok)
		case u, ok := <-n.link.rounds:
			n.roundUpdate(u, ok)
		case w := <-n.writer.results:
			n.written(w)
		case steps := <-n.link.checkpoints:
			n.found(steps)
		case <-n.wake:
		case <-ticker.C:
			n.missing()
		}
	}
}

// missing reads again what should have come long ago: the round that the job's record speaks of.
func (n *node) missing() {
	if j := n.reading.Job; j != nil && j.Phase == rendezvous.Running && n.reading.Round == nil {
		n.writer.rejoin, n.writer.dirty = true, true
	}
}

// act does what the node's half of the protocol asks for now, until it asks to wait.
func (n *node) act() {
	at := n.clock()
	n.guard()
	if n.ended {
		n.write()
		return
	}
	n.giveUp(at)
	for !n.ended && n.known() {
		n.self.State, n.self.Round, n.self.Leaving = n.record.State, n.record.Round, n.record.Leaving
		step := rendezvous.React(n.self, n.reading, at)
		if !n.do(step, at) {
			break
		}
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
		n.record.State, n.record.Round, n.record.Outcome, n.record.OutcomeRev = rendezvous.NodeStopped, step.Round, nil, 0
		n.writer.dirty = true
		return true
	case rendezvous.ActRejoin:
		n.rejoin()
		return true
	case rendezvous.ActReturn:
		n.record.Reopens = n.reading.Job.Seq
		n.self.Reopens = n.record.Reopens
		n.writer.dirty = true
		return true
	case rendezvous.ActLeave:
		n.left(*step.End)
	case rendezvous.ActWait:
		if n.lostAt != 0 {
			n.say(n.unreachable())
		} else {
			n.say(step.Why + n.backoff())
		}
		n.look()
	}
	return false
}

// start gives out the order to start a round.
func (n *node) start(step rendezvous.Step) bool {
	n.record.State, n.record.Round, n.record.Rank = rendezvous.NodeRunning, step.Round, &step.Rank
	n.record.Outcome, n.record.OutcomeRev, n.record.Brings, n.record.After = nil, 0, nil, nil
	n.record.Step = nil
	n.self.RunUID, n.record.RunUID = n.reading.Round.RunUID, n.reading.Round.RunUID
	n.self.Guard.Fence = time.Duration(n.reading.Round.Fence)
	n.started, n.halted, n.cutOff = true, false, false
	n.ports.current.Release()
	n.ports.current, n.ports.next = n.ports.next, nil
	n.reservePort()
	n.guard()
	n.writer.dirty = true
	n.order(Order{Start: &Start{Round: n.reading.Round, Rank: step.Rank}})
	return true
}

// halt gives out the order to stop the round, once.
func (n *node) halt(step rendezvous.Step, at time.Duration) {
	if n.halted {
		return
	}
	n.halted = true
	n.cutOff, n.late = n.self.Guard.Expired(at) && !n.record.Leaving, n.self.Guard
	n.log.Debug("the round is to be stopped", "round", step.Round, "why", step.Why)
	stop := &Stop{Round: step.Round, Why: step.Why}
	if j := n.reading.Job; j != nil && j.Stop != nil && j.Stop.Round == step.Round {
		stop.Suspend = j.Stop.Kind == rendezvous.StopSuspend
	}
	n.order(Order{Stop: stop})
}

// rejoin begins anew in a store that is not the one the node was in, and brings what it knows.
func (n *node) rejoin() {
	if n.record.Store != "" {
		n.log.Warn("the store is another one than before: joining it anew")
		n.record.Brings = n.earlierJob
		if j := n.lastJob; j != nil && j.Store != n.reading.Store {
			n.record.Brings = j
		}
	}
	n.record.Store, n.self.Store = n.reading.Store, n.reading.Store
	n.record.State, n.record.Round = rendezvous.NodeWaiting, -1
	n.record.Outcome, n.record.OutcomeRev, n.record.Seen, n.record.Reopens = nil, 0, 0, 0
	n.self.Joined, n.self.Reopens = 0, 0
	if n.reading.Job != nil {
		n.self.Joined = n.reading.Job.Seq
	}
	n.writer.dirty = true
}

// left ends the node. Where the job goes on without it the others are told first, in a key that stays: that nothing of
// this node runs any more, and that it went on purpose. Where the job has ended, that the key goes says enough.
func (n *node) left(e rendezvous.End) {
	n.ended = true
	if !n.record.Leaving || !n.writer.claimed || n.self.Taken {
		n.order(Order{End: &e})
		return
	}
	n.record.State = rendezvous.NodeLeft
	n.writer.dirty, n.writer.last = true, &e
	time.AfterFunc(farewellTime, func() { n.report((*node).farewellLate) })
}

// farewellLate ends a node that could not tell the others in time.
func (n *node) farewellLate() {
	if n.writer.last == nil {
		return
	}
	n.log.Warn("the others could not be told that this node leaves")
	n.order(Order{End: n.writer.last})
	n.writer.last = nil
}

// farewellTime is how long a node that leaves tries to tell the others.
const farewellTime = 2 * time.Second

// giveUp ends a node that has no workers and cannot reach the store for too long.
func (n *node) giveUp(at time.Duration) {
	if n.writer.last != nil || n.started || n.lostAt == 0 || at-n.lostAt < n.cfg.StoreTimeout {
		return
	}
	n.ended = true
	n.order(Order{End: &rendezvous.End{
		Verdict: exitcodes.Retry, Reason: exitcodes.ReasonStoreLost, Code: exitcodes.CodeStoreLost,
		Message: fmt.Sprintf("the store did not answer for %v: %v", n.cfg.StoreTimeout, n.link.err),
	}})
}

// unreachable is why a node waits that does not reach the store.
func (n *node) unreachable() string {
	if n.link.err == nil {
		return "the store does not answer"
	}
	return "the store cannot be reached: " + n.link.err.Error()
}

// lost takes note of when the store was last heard of, as far as anybody noticed.
func (n *node) lost() {
	if n.lostAt == 0 {
		n.lostAt = max(n.clock(), 1)
	}
}

// refuse ends a node to which the store says something that trying again does not change.
func (n *node) refuse(err error) {
	if n.ended {
		return
	}
	if n.started { // training goes on until the guard says otherwise
		n.say(err.Error())
		n.retry()
		return
	}
	n.ended = true
	n.order(Order{End: &rendezvous.End{
		Verdict: exitcodes.Fatal, Reason: exitcodes.ReasonBadConfig, Code: exitcodes.CodeBadConfig, Message: err.Error(),
	}})
}

func permanent(err error) bool {
	return errors.Is(err, store.ErrDenied) || errors.Is(err, store.ErrTLS) || errors.Is(err, store.ErrRefused)
}

func (n *node) order(o Order) {
	if n.lastJob != nil {
		o.Budget = n.lastJob.Budget
	}
	n.pending = append(n.pending, o)
}

// Reports of the supervisor.

func (n *node) failing(round int, o rendezvous.Outcome, step *int64) {
	if round != n.record.Round || n.record.State != rendezvous.NodeRunning || n.record.Outcome != nil {
		return
	}
	n.record.Outcome, n.record.Step = n.stamp(o), step
	n.writer.dirty = true
}

func (n *node) gone(round int, o rendezvous.Outcome, step *int64) {
	if round != n.record.Round || n.record.State != rendezvous.NodeRunning {
		return
	}
	n.started, n.halted = false, false
	n.pending = slices.DeleteFunc(n.pending, func(o Order) bool { return o.Stop != nil }) // nobody needs it any more
	n.record.State, n.record.Step = rendezvous.NodeStopped, step
	switch {
	case o.Verdict == exitcodes.Success:
		n.record.State = rendezvous.NodeDone
	case o.Verdict == "" && n.cutOff:
		o = rendezvous.CutOff(n.self.Store, n.self.RunUID, round, time.Now())
	}
	guard := n.self.Guard
	if n.cutOff {
		guard = n.late
	}
	if over := guard.Overlap(n.clock()); over > 0 && guard.Fence > 0 {
		n.log.Error("this node was paused for so long that another round may have run beside its own", "overlap", over)
	}
	if o.Verdict == "" {
		n.record.Outcome, n.record.OutcomeRev = nil, 0
	} else {
		n.record.Outcome = n.stamp(o)
	}
	if n.lostAt != 0 {
		n.lostAt = max(n.clock(), 1) // the time to wait for the store begins now
	}
	n.writer.dirty = true
}

// stamp says what an outcome is about.
func (n *node) stamp(o rendezvous.Outcome) *rendezvous.Outcome {
	o.Store, o.RunUID, o.Round = n.self.Store, n.self.RunUID, n.record.Round
	return &o
}

func (n *node) leave() {
	n.record.Leaving = true
	n.writer.dirty = true
}

// reservePort keeps a port for a round whose first rank this node may be.
func (n *node) reservePort() {
	if n.cfg.ReservePort == nil {
		return
	}
	wanted := 0
	if pin := n.record.Pin; n.record.Port == 0 && (pin == nil || *pin == 0) { // else this node is not the master
		wanted = n.cfg.FirstPort
	}
	p, err := n.cfg.ReservePort(wanted)
	if err != nil && wanted != 0 {
		n.log.Warn("the port that was asked for is not free; another one is used", "err", err)
		p, err = n.cfg.ReservePort(0)
	}
	if err != nil {
		n.log.Warn("no port to offer to the other nodes", "err", err)
		n.record.Port = 0
		return
	}
	n.ports.next, n.record.Port = p, p.Number
}

const (
	sayAfter = time.Second      // most reasons to wait are over sooner, and nobody needs to know
	sayAgain = 30 * time.Second // then the reason is repeated
)

// say logs why the node waits, once it has waited for a while, and now and then.
func (n *node) say(why string) {
	now := time.Now()
	if why != n.why {
		n.why, n.whySince, n.saidAt = why, now, time.Time{}
	}
	if now.Sub(n.whySince) >= sayAfter && now.Sub(n.saidAt) >= sayAgain {
		n.saidAt = now
		n.log.Info("waiting", "why", why)
	}
}

// backoff tells of a pause before the next round.
func (n *node) backoff() string {
	if j := n.reading.Job; j != nil && j.Phase == rendezvous.Forming && j.NotBefore.After(time.Now()) {
		return "; restarting not before " + j.NotBefore.Local().Format(time.TimeOnly)
	}
	return ""
}

// look looks for checkpoints before the next round.
func (n *node) look() {
	next := n.record.Round + 1
	if n.cfg.Checkpoints == nil || n.looking || n.looked == next {
		return
	}
	n.looking, n.looked = true, next
	go func() {
		steps := n.cfg.Checkpoints(n.ctx)
		select {
		case n.link.checkpoints <- steps:
		case <-n.ctx.Done():
		}
	}()
}

func (n *node) found(steps []int64) {
	n.looking = false
	n.record.Checkpoints = steps
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
		n.lostAt = 0
	}
}

// finish gives back what the node holds.
func (n *node) finish() {
	n.ports.current.Release()
	n.ports.next.Release()
	n.link.close()
}
