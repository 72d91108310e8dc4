package agent

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/internal/timer"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/port"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// Defaults of the timings.
const (
	DefaultLease        = 5 * time.Second
	DefaultStoreTimeout = 10 * time.Minute
)

// Config is what an agent is told.
type Config struct {
	// Connect opens the store. It is called again while it says store.ErrUnreachable. The agent closes what it gets.
	Connect func(context.Context) (store.Store, error)
	Name    string // of this node, stable over restarts
	// Volatile is set where the store forgets everything when its host is lost: a new one may have taken its place.
	Volatile bool
	// Node is what does not change in the node's record: incarnation, boot id, address, slots, role and so on.
	Node rendezvous.Node
	Spec rendezvous.Spec
	// StopTime is how long it takes at most from an order to stop until the last process of the workers is gone.
	StopTime time.Duration
	// Lease is how long the node's key outlives it; 0 is DefaultLease.
	Lease time.Duration
	// StoreTimeout is how long the node waits for a store that does not answer; 0 is DefaultStoreTimeout.
	StoreTimeout time.Duration
	// ReservePort keeps a port for the next round's master, when it is this node; 0 is any. Nil: no port is needed.
	ReservePort func(number int) (*port.Port, error)
	// FirstPort is the port to offer for the first round; 0 is any.
	FirstPort int
	// Checkpoints is where this node's checkpoints are; nil when there are none to look at. The agent owns it.
	Checkpoints *checkpoint.Directory
	// Job is the name of the job and Namespace that in which it is one, by which its checkpoints are told from another's.
	Job, Namespace string
	// KeepRecord keeps the job's record beside its checkpoints, too, where the job has a name and they are on this machine.
	KeepRecord bool
	Clock      store.Clock // nil: the machine's
	// Now is the time of day, which goes into records; nil: the machine's as it was when the agent began, and what has passed
	// since. No two machines need agree on it.
	Now func() time.Time
	// Timer makes the timers by which the node looks at the clock while nothing happens; nil: Go's own.
	Timer func(time.Duration) *timer.Timer
	Log   *slog.Logger
}

// Order is what the node is to do next. Exactly one of Start, Ask, Save, Slow, Stop and End is set.
type Order struct {
	Start *Start
	Ask   *Ask
	Save  *Save
	Slow  *rendezvous.SlowNode // only to be told, by the node that leads
	Stop  *Stop
	End   *rendezvous.End
	// Budget is how much of the job's restarts is used, as far as it is known.
	Budget rendezvous.Budget
}

// Start says that a round begins. Workers may be started only while Agent.MayStart says so.
type Start struct {
	Round *rendezvous.Round
	Rank  int // of this node among the members
	// Round is as it stands in the store, but for Round.Resume where these workers come into a round that runs already: then
	// it is the newest that there is. Resumed is that checkpoint on this node, nil when there is none or it cannot be used: then
	// Unresumed says why, and the workers cannot be started.
	Resumed   *Resumed
	Unresumed error
	Looked    bool     // for checkpoints
	Banned    []string // hosts that are kept out of the round, where others suffice
	Blamed    string   // the node on which the round before has failed, as the job has judged; empty: on none
	StoreLost bool     // the round before was stopped because a node could not reach the store
}

// Resumed is a checkpoint as the workers on this node find it.
type Resumed struct {
	Path, Root string
	Tag        string // its name in the root
}

// Stop says that the round's workers are to be stopped; Gone tells that they are.
type Stop struct {
	Round int
	Why   string
	// Suspend says that somebody wants the job to pause: the workers may take the time to save what they have.
	Suspend bool
	// Departure says that another node leaves as announced, and nothing has failed.
	Departure bool
	// Silence is for how long nothing has been heard of the node that is lost: so long its workers have been missed.
	Silence time.Duration
	// Failure is the reason of what failed or was lost elsewhere; empty where that is not why.
	Failure string
	// Expedite says that the others may soon continue without this node: what it was given of time before is shortened. It
	// may come after another order to stop the same round.
	Expedite bool
}

// Agent is one node's part in a job.
type Agent struct {
	cfg     Config
	clock   store.Clock
	now     func() time.Time
	log     *slog.Logger
	orders  chan Order
	reports chan func(*node)
	stop    context.CancelFunc
	done    chan struct{}

	mayStart atomic.Int64                      // until then, by the clock, in nanoseconds
	saved    atomic.Pointer[format.Checkpoint] // the newest that is known of
	progress atomic.Pointer[getsOn]
	others   others
	stepped  atomic.Pointer[int64] // the last step that a worker of this round has reported, nil when none has
	// newest is the newest round that the node has heard of; the leader looks at it where the store has lost it.
	newest atomic.Pointer[rendezvous.Round]
	// heard is the newest record of the job that the node has heard of, its times by this machine's clock from that
	// moment on. When it comes to lead, it knows by that how long things have lasted.
	heard   atomic.Pointer[rendezvous.Job]
	full    atomic.Pointer[full] // nil while the store takes writes
	leading atomic.Bool
	// undecided is set while this node leads and has not decided yet, on all that there was when it wrote last, that there is
	// nothing to write.
	undecided atomic.Bool
	// ending is the lease of a job that has ended; it is made once, however often that has to be written, and by however
	// many leaders of this node. There is one at a time.
	ending store.Lease
	keeper atomic.Pointer[keeper] // of the job's record; nil where none is kept
}

// Join joins the job. Orders come until one that says End; Close has to be called in any case.
func Join(ctx context.Context, cfg Config) *Agent {
	cfg.Lease = cmp.Or(cfg.Lease, DefaultLease)
	cfg.StoreTimeout = cmp.Or(cfg.StoreTimeout, DefaultStoreTimeout)
	ctx, stop := context.WithCancel(ctx)
	a := &Agent{
		cfg: cfg, clock: cfg.Clock, now: cfg.Now, log: cfg.Log, stop: stop,
		orders: make(chan Order), reports: make(chan func(*node), 64), done: make(chan struct{}),
	}
	if a.clock == nil {
		a.clock = store.Boottime
	}
	if a.now == nil {
		a.now = steady(a.clock)
	}
	if a.cfg.Timer == nil {
		a.cfg.Timer = timer.Soft
	}
	n := newNode(a, ctx)
	crash.Go(func() {
		defer close(a.done)
		n.run()
	})
	return a
}

// steady is the time of day as it is now, and what has passed since by the clock. Pauses, bans and budgets are written down as
// times: one that ends in a second would end in an hour for whoever sets the clock of the day back by one.
func steady(clock store.Clock) func() time.Time {
	day, began := time.Now().Round(0), clock()
	return func() time.Time { return day.Add(clock() - began) }
}

// Orders delivers what the node is to do, in order.
func (a *Agent) Orders() <-chan Order { return a.orders }

// MayStart reports whether the workers of a round may be started now: not when the store has not been heard of for so
// long that others may soon count this node as gone.
func (a *Agent) MayStart() bool { return int64(a.clock()) < a.mayStart.Load() }

// Stepped tells of the step that a worker of the running round has finished.
func (a *Agent) Stepped(step int64) { a.stepped.Store(&step) }

// Progressed tells how far the workers of the running round have come, for the other nodes to compare; still says that they
// have got nowhere for so long that it may be a hang.
func (a *Agent) Progressed(p rendezvous.Reached, still bool) {
	before := a.progress.Swap(&getsOn{p, still})
	if was := before != nil && before.Busy != ""; was != (p.Busy != "") { // others may be about to judge by that
		crash.Go(func() { a.report((*node).compareNow) })
	}
}

// Failing tells that a worker of the round has failed. The others of this node are being stopped. step is the last
// that the workers have reported, nil when it is not known.
func (a *Agent) Failing(round int, o rendezvous.Outcome, step *int64) {
	a.report(func(n *node) { n.failing(round, o, step) })
}

// Gone tells that no process of the round's workers is left, and what became of them. An outcome without a verdict says
// that they were only stopped.
func (a *Agent) Gone(round int, o rendezvous.Outcome, step *int64) {
	a.report(func(n *node) { n.gone(round, o, step) })
}

// Leave tells that this node was asked to stop. Its workers may still run; Gone follows. An order to end comes when the
// others know.
func (a *Agent) Leave() { a.report((*node).leave) }

// LeaveSick tells the same of a node whose machine is not fit to train, and why: the job remembers the machine.
func (a *Agent) LeaveSick(why string) {
	a.report(func(n *node) {
		n.record.Sick = rendezvous.Sentence(why)
		n.leave()
	})
}

// Heard is the newest record of the job, and of a round, that this node has heard of; nil where it has heard of none. They
// are not to be changed.
func (a *Agent) Heard() (*rendezvous.Job, *rendezvous.Round) { return a.heard.Load(), a.newest.Load() }

// report hands something to the node's goroutine, which never waits for long; after the end nobody listens.
func (a *Agent) report(f func(*node)) {
	select {
	case a.reports <- f:
	case <-a.done:
	}
}

// Close ends the agent, and gives the node's lease back.
func (a *Agent) Close() {
	a.stop()
	<-a.done
}
