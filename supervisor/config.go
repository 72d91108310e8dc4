package supervisor

import (
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// What the node is told in its own words.
type (
	Leftovers     = node.Leftovers
	SilentRestart = node.SilentRestart
)

// The values of these.
const (
	LeftoversKill  = node.LeftoversKill
	LeftoversTerm  = node.LeftoversTerm
	LeftoversLeave = node.LeftoversLeave

	SilentRestartFatal    = node.SilentRestartFatal
	SilentRestartFallback = node.SilentRestartFallback
	SilentRestartIgnore   = node.SilentRestartIgnore
)

// Notice is the signal by which a scheduler says that the end is near.
type Notice struct {
	Signal unix.Signal   // 0: there is none
	Grace  time.Duration // from it to SIGKILL
}

// Scope says who gets the signals that are passed on.
type Scope string

const (
	ScopeWorker  Scope = "worker"  // the worker's process alone
	ScopeGroup   Scope = "group"   // its process group
	ScopeSession Scope = "session" // a session of its own, and job control, as dumb-init does it
)

// Worker is one process to supervise.
type Worker struct {
	Rank, LocalRank int // -1 when not known
	Argv            []string
	Env             []string
	Stdout, Stderr  Sink
	// ErrorFile is where the worker may leave a torchelastic error file (TORCHELASTIC_ERROR_FILE). When it is empty, the
	// file that Env names counts, and without one a temporary one.
	ErrorFile string
	// Session makes the worker the leader of a session of its own, as torchrun does. Else it leads a process group.
	Session bool
	// Terminal gives the controlling terminal, if there is one, to this worker: its group is in the foreground, and
	// what goes to no file goes to the terminal itself. At most one worker of a gang has it.
	Terminal bool
	// NoInput makes standard input empty; else it is gangrun's own.
	NoInput bool
}

// Sink is where one of a worker's two outputs goes.
type Sink struct {
	Hidden bool   // not shown on the console
	Prefix string // before each line on the console; without one bytes pass through as they come
	Lines  bool   // show whole lines without a prefix too, for when several workers share the console
	File   string // path of a file that keeps the exact bytes; empty for none
	Filter *Filter
}

// Filter keeps the lines that contain one of some texts in a file that several workers may share.
type Filter struct {
	File     string // path
	Contains []string
}

// Kill rehearses a failure: one worker is killed, once in a run.
type Kill struct {
	Rank   int
	Signal unix.Signal
	After  time.Duration // after the start of the worker, when AtStep is nil
	AtStep *int64        // once the worker has reported this step
}

// Ended is what became of one worker in a round.
type Ended struct {
	Worker
	PID       int // 0 when it was never started
	Finding   exitcodes.Finding
	Status    exitcodes.Status
	Stop      exitcodes.Stop
	StartedAt time.Time
	At        time.Time
	ErrorData []byte // what it left in its error file
	Output    []byte // the end of what it printed
}

// Round is how a round ended.
type Round struct {
	Number  int
	Workers []Ended
	Cause   int // index of the worker that caused the end; -1 when none failed by itself
}

// DefaultRestartGrace is Config.RestartGrace where nobody says otherwise.
const DefaultRestartGrace = 5 * time.Second

// Config is all that a supervisor needs to know: it reads no flags or variables later.
type Config struct {
	Job, Node string
	Role      string // of the node; empty when it has none
	Member    string // marks the workers' processes (MemberVariable); empty for a node that has no successor
	Dir       string // the workers' working directory
	Alone     bool   // there is no other node in the job
	// Agent says when rounds begin and end. The caller closes it.
	Agent *agent.Agent
	// Workers makes the workers of a round, right before they are started. There is at least one. An error is the
	// machine's fault: the round counts as failed, and another node or a moment later may do better.
	Workers func(*agent.Start) ([]Worker, error)
	// RoundEnded, when set, is told how each round ended. The goroutine that owns the state calls it, so it must not wait.
	RoundEnded func(Round)
	// Observe, when set, is given each step of the node as it is taken. It must not block, nor change what it is given.
	Observe func(at time.Time, ev node.Event, effects []node.Effect)
	// Alive, when set, asks whether the goroutine that owns the state still works: it closes each channel that it is sent.
	Alive <-chan chan struct{}
	// OneProcessor has the whole program use a single processor while workers run. Leave it off where somebody has set
	// GOMAXPROCS.
	OneProcessor bool
	// Epilogue, when set, writes last words to standard error when everything else is out.
	Epilogue func(io.Writer)

	MaxRestarts int  // for the record; the agent decides
	NoRestart   bool // the agent will not restart anything
	RestartAny  bool // it may restart after a fatal verdict, too
	RetryCode   int  // exit with this code for every retry verdict; 0 keeps each its own

	// SilentRestart says what to do with a worker that does not resume from the checkpoint that it was given.
	SilentRestart SilentRestart

	Grace        time.Duration // from a stop signal from outside to SIGKILL
	SaveGrace    time.Duration // the same for a worker that saves a checkpoint; 0: unknown, so no more than Grace
	RestartGrace time.Duration // the same when gangrun itself stops a worker; see [DefaultRestartGrace]
	Notice       Notice
	TimeLimit    time.Duration // from StartedAt until the run on this node has to be over; 0: none
	StartedAt    time.Time     // of gangrun
	Leftovers    Leftovers
	Scope        Scope
	SignalMap    map[unix.Signal]unix.Signal // what comes in → what is passed on; 0 drops it
	// StopSignals ask for the end; others are only passed on. (SIGHUP and SIGQUIT, when not among them, are passed on
	// without a clock, but a worker that ends on them was stopped by them.)
	StopSignals []unix.Signal
	// StopVerdictWorker gives a worker that was stopped from outside its own verdict, as a plain init would.
	StopVerdictWorker bool
	// OnUnknown says what an ordinary exit code means that nothing explains; empty: fatal.
	OnUnknown exitcodes.OnUnknown

	// Hang says how long the workers may make no progress, and what to do then.
	Hang hang.Policy
	// StepLines is how the output of the workers shows their steps; nil: as the first profile does that fits.
	StepLines *progress.Profile
	// SeenProfile, when set, is told by whose lines the output of a worker shows steps, whichever StepLines reads. It must
	// not wait.
	SeenProfile func(name string)
	// PythonStacks gives the workers PYTHONFAULTHANDLER=1, unless their environment says something about it, and has
	// those that get nowhere write their stacks.
	PythonStacks bool
	// TorchControlPlane has torch start its worker server in each rank, which can be asked for its flight recorder.
	TorchControlPlane bool
	// HangDir returns the directory in which the evidence of a hang is saved; nil, or empty: a temporary one.
	HangDir func() string

	Preflight Preflight

	Hooks Hooks
	Kills []Kill // failures to rehearse

	// Rules returns the rules that read logs. It is called when there is a failure or output to judge.
	Rules func() *exitcodes.Rules

	TerminationLog string // path; empty for none
	MessageMax     int    // bytes
	StateDir       string // a directory for the same record; empty for none

	Log     *slog.Logger
	Signals <-chan os.Signal // what the outside world sends
}

// policy is what the node has to know of it.
func (c Config) policy(t node.Terminal) node.Policy {
	p := node.Policy{
		Job: c.Job, Node: c.Node, Role: c.Role, Alone: c.Alone, StartedAt: c.StartedAt,
		MaxRestarts: c.MaxRestarts, NoRestart: c.NoRestart, RestartAny: c.RestartAny, RetryCode: c.RetryCode,
		SilentRestart: c.SilentRestart, Preflight: c.Preflight.On,
		Grace: c.Grace, SaveGrace: c.SaveGrace, RestartGrace: c.RestartGrace,
		Notice:    node.Notice{Signal: node.Signal(c.Notice.Signal), Grace: c.Notice.Grace},
		TimeLimit: c.TimeLimit, Leftovers: c.Leftovers,
		WholeGroup: c.Scope != ScopeWorker, Sessions: c.Scope == ScopeSession,
		SignalMap: map[node.Signal]node.Signal{}, StopVerdictWorker: c.StopVerdictWorker, OnUnknown: c.OnUnknown, Terminal: t,
		OnExit: hookNames("on-exit", c.Hooks.OnExit), OnJobEnd: hookNames("on-job-end", c.Hooks.OnJobEnd),
		HookTimeout: c.Hooks.Timeout, HookIgnore: c.Hooks.Ignore,
	}
	for from, to := range c.SignalMap {
		p.SignalMap[node.Signal(from)] = node.Signal(to)
	}
	for _, sig := range c.StopSignals {
		p.StopSignals = append(p.StopSignals, node.Signal(sig))
	}
	for _, k := range c.Kills {
		p.Kills = append(p.Kills, node.Kill{Rank: k.Rank, Signal: node.Signal(k.Signal), After: k.After, AtStep: k.AtStep})
	}
	return p
}
