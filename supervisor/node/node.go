package node

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// State is where a node stands.
type State int

// The states of a node.
const (
	Waiting  State = iota // no process of a worker exists; the job says what follows
	Starting              // a round's workers are made ready and started
	Running               // a round is under way: until its last worker is gone and judged
	Clearing              // the workers are gone, what they left behind is being removed
	Hooking               // the end is known, the exit hooks run
	Flushing              // what is still to be seen is written out
	Ended
)

var stateNames = [...]string{"waiting", "starting", "running", "clearing", "hooking", "flushing", "ended"}

// String is the state's name.
func (s State) String() string { return stateNames[s] }

// follows are the states that may come after each.
var follows = map[State][]State{
	Waiting:  {Starting, Hooking, Flushing},
	Starting: {Waiting, Running},
	Running:  {Clearing},
	Clearing: {Waiting, Hooking, Flushing},
	Hooking:  {Flushing},
	Flushing: {Ended},
}

// Node is one node's part in a run. Only Step changes it.
type Node struct {
	policy Policy
	state  State
	now    time.Time // of the step
	out    []Effect  // of the step

	budget  rendezvous.Budget // as last told
	saved   *Saved            // the newest checkpoint, as last told
	begin   *Begin            // the current round, or the last; nil before the first
	workers []worker
	ran     bool // a worker has run
	alone   bool // no process of any worker or hook is left

	request   *stopRequest // the first call for the end from outside
	failedAt  time.Time    // of the failure that the next round recovers from
	recovery  time.Duration
	stopBy    time.Time // one has failed, and the others are to be stopped then
	expedited bool      // others may continue without this node
	refreshed time.Time // when the provisional message was last written
	left      leftovers
	dumping   bool    // the workers were asked for their stacks, or are held for it, and are ended
	holding   holding // until they are asked
	mayBeHeld bool    // they were to be held
	stuck     stuck   // what not even SIGKILL has ended
	verdict   verdict // on the last round
	rehearsal []Kill  // still to be done
	pace      pace    // of the steps in the round
	knows     bool    // the job knows that the ranks look at the stop file
	save      *save   // that all make; nil: none, or its time is over
	note      string  // how that has gone here
	preflight preflight

	final   *exitcodes.Message // how this node ends whatever becomes of the others; nil: as they do
	over    bool               // the job has given its last order
	endsJob bool               // and it was this node that has ended it
	hooks   hooks
	flushBy time.Time
}

// worker is one process of the round.
type worker struct {
	Worker
	pid       int
	startedAt time.Time
	why       string // it was not started, in words
	accused   string // its health is not what it should be, in words
	lingered  string // it had finished and did not end, in words
	dumped    bool   // it was asked for its stacks, which ends it
	checked   bool   // its first step was compared with the checkpoint's
	report    Report

	stepAt time.Time // when it last told a new step

	stop      exitcodes.Stop
	stoppedAt time.Time
	clock     clock
	yields    bool   // it was stopped because another node leaves
	told      bool   // it was stopped by the file that tells the step at which all save
	lets      bool   // it has saved as agreed, and has a moment to exit by itself
	signaled  bool   // it was asked to stop by a signal, before it has said that it has saved
	early     bool   // it has ended before it could have saved at the step that all agreed on
	obeyed    bool   // it has exited with 0 by itself, while all were to save
	paused    bool   // by job control
	ownPause  bool   // by our SIGSTOP, and the news of it is still to come
	hint      Signal // from outside, that may have meant the end, if the worker ends before hintBy
	hintBy    time.Time

	ended, judged bool
	at            time.Time
	status        exitcodes.Status
	finding       exitcodes.Finding
}

// String names the worker for a person: its process, and its rank if it has one.
func (w *worker) String() string {
	if w.Rank < 0 {
		return fmt.Sprintf("pid %d", w.pid)
	}
	return fmt.Sprintf("rank %d, pid %d", w.Rank, w.pid)
}

// New is a node that has not been told anything yet. The effects are its first.
func New(p Policy, now time.Time) (*Node, []Effect) {
	n := &Node{policy: p, verdict: verdict{cause: -1}, rehearsal: slices.Clone(p.Kills), now: now}
	n.do(Record{n.waitingMessage()})
	if p.Preflight {
		n.examine("before the first round")
	}
	return n, n.out
}

// State is where the node stands.
func (n *Node) State() State { return n.state }

// ExitCode is what gangrun exits with, once the node has ended.
func (n *Node) ExitCode() int { return n.final.ExitCode }

// Step takes an event that has come at now, and returns what is to be done, in order. Times must not go back.
func (n *Node) Step(ev Event, now time.Time) []Effect {
	n.now, n.out = now, nil
	switch ev := ev.(type) {
	case Budget:
		n.budget = ev.Budget
	case Saved:
		n.saved = &ev
	case Begin:
		n.begins(ev)
	case Ask:
		n.asked(ev)
	case Save:
		n.saveOrdered(ev)
	case Told:
		n.told(ev)
	case Stop:
		n.stopOrdered(ev)
	case End:
		n.endOrdered(ev)
	case Signaled:
		n.signaled(ev)
	case Prepared:
		n.prepared(ev)
	case Forked:
		n.forked(ev)
	case NotForked:
		n.notForked(ev)
	case Paused:
		n.paused(ev)
	case Handed:
		n.policy.Terminal.Handed = ev.Worker
	case Exited:
		n.exited(ev)
	case Alone:
		n.aloneNow()
	case Judged:
		n.judged(ev)
	case Amended:
		n.amended(ev)
	case Reported:
		n.reported(ev)
	case Straggles:
		n.straggles(ev)
	case Slows:
		n.slows(ev)
	case Hung:
		n.hung(ev)
	case Held:
		n.held()
	case Dumped:
		n.dumped(ev)
	case Swept:
		n.swept(ev.Found)
	case Looked:
		n.looked(ev)
	case Probed:
		n.probed(ev)
	case HookFlushed:
		n.hookFlushed(ev.Output)
	case Flushed:
		n.flushed()
	case Tick:
	}
	n.due()
	return n.out
}

// do adds an effect to the step.
func (n *Node) do(e Effect) { n.out = append(n.out, e) }

func (n *Node) log(level slog.Level, text string, args ...any) { n.do(Log{level, text, args}) }

// transition is the only way from one state to another.
func (n *Node) transition(to State) {
	if !slices.Contains(follows[n.state], to) {
		panic(fmt.Sprintf("node: from %v to %v", n.state, to))
	}
	n.state = to
}

// Deadline is when a Tick is due at the latest; zero when nothing waits for the time.
func (n *Node) Deadline() time.Time {
	next := n.limitAt()
	switch n.state {
	case Running:
		for i := range n.workers {
			if w := &n.workers[i]; !w.ended {
				next = earlier(next, w.clock.next())
			}
		}
		next = earlier(earlier(earlier(next, n.stopBy), n.nextKill()), n.save.next())
		next = earlier(next, n.holding.until)
	case Clearing:
		next = earlier(next, n.left.clock.next())
	case Hooking:
		next = n.hooks.next()
	case Flushing:
		next = n.flushBy
	case Ended:
		next = time.Time{}
	}
	return next
}

// due does what has become due.
func (n *Node) due() {
	n.limitDue()
	switch n.state {
	case Running:
		if !n.stopBy.IsZero() && !n.now.Before(n.stopBy) {
			n.stopOthers()
		}
		if !n.holding.until.IsZero() && !n.now.Before(n.holding.until) {
			n.heldLong()
		}
		n.rehearse()
		n.saveDue()
		for i := range n.workers {
			n.workerDue(i)
		}
	case Clearing:
		n.leftoversDue()
	case Hooking:
		n.hookDue()
	case Flushing:
		if !n.now.Before(n.flushBy) {
			n.flushed()
		}
	}
}

// round is the number of the current round, or the last; 0 before the first.
func (n *Node) round() int {
	if n.begin == nil {
		return 0
	}
	return n.begin.Round
}

// step is the last one that every worker which reports has finished; nil when it is unknown.
func (n *Node) step() (lowest *int64) {
	for i := range n.workers {
		if step := n.workers[i].report.Step; step != nil && (lowest == nil || *step < *lowest) {
			lowest = step
		}
	}
	return lowest
}

// progressed reports whether training has come further in this round than where the round began.
func (n *Node) progressed() bool {
	step, from := n.step(), int64(0)
	if n.begin != nil && n.begin.Step != nil && n.begin.Unit == "" {
		from = *n.begin.Step
	}
	return step != nil && *step > from
}

// earlier is the earlier of two times of which either may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
