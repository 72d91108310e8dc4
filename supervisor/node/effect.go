package node

import (
	"log/slog"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// Effect is something to be done. Those that ask for something say which event answers them.
type Effect interface{ effect() }

type (
	// Prepare makes everything ready that the round's workers need: [Prepared].
	Prepare struct{ Begin }

	// Abandon forgets what was prepared, or is being prepared.
	Abandon struct{}

	// Probe looks at the machine: [Probed]. However long that takes, no worker runs meanwhile.
	Probe struct{}

	// StopProbes ends the look at the machine: its result is not needed any more.
	StopProbes struct{}

	// Join makes this node known to the job. Without Policy.Preflight it is known from the beginning.
	Join struct{}

	// Fork starts a worker: [Forked] or [NotForked], at once.
	Fork struct{ Worker int }

	// Send sends a signal to a worker or the hook. Nothing happens when it is gone.
	Send struct {
		Worker int
		Signal Signal
		Group  bool // to its process group
	}

	// Gather gathers the evidence about a worker that has ended: [Judged].
	Gather struct {
		Worker  int
		Outcome exitcodes.Outcome // as far as it is known here
		// Evidence is what counts beside it.
		Evidence Evidence
	}

	// Amend looks once more at what the machine knows, all workers being gone: [Amended].
	Amend struct {
		Hung bool // they were ended because they got nowhere: which of them was the cause?
	}

	// Hold stops the workers' Python processes where they stand, and whoever launched them: [Held].
	Hold struct{}

	// Release continues what [Hold] has stopped of a worker.
	Release struct{ Worker int }
	// Dump has the workers' Python processes write their stacks, of which they end: [Dumped].
	Dump struct{}

	// Concluded tells that a round is over, and which worker caused its end; -1 when none failed by itself.
	Concluded struct {
		Round, Cause int
		Stops        []exitcodes.Stop // of each worker
		Findings     []exitcodes.Finding
	}

	// Sweep sends a signal to every process that the workers have left behind: [Swept]. Note is said when there is one.
	Sweep struct {
		Signal Signal
		Note   string
	}

	// Look looks at a worker or hook that was killed: [Looked].
	Look struct{ Worker int }

	// Forget releases what the round's workers needed, and the terminal.
	Forget struct{}

	// Record writes the termination message.
	Record struct{ exitcodes.Message }

	// Log says something to a person.
	Log struct {
		Level slog.Level
		Text  string
		Args  []any
	}

	// Ending tells why the run ends on this node, where the failure of its own workers does not say it.
	Ending struct {
		Why     string           // the job's word: its restarts are used up, nodes are missing; empty where a failure alone ends it
		Limit   rendezvous.Limit // on the restarts, where that is why
		Failure string           // that failure, where it was another node's
		Alone   bool             // the job continues without this node
	}

	// Failing tells the job that a worker has failed while others still run.
	Failing struct {
		Round   int
		Outcome rendezvous.Outcome
		Step    *int64
	}

	// Gone tells the job that nothing of a round's workers is left, and what became of them.
	Gone struct {
		Round   int
		Outcome rendezvous.Outcome
		Step    *int64
	}

	// Leave tells the job that this node is to leave it.
	Leave struct {
		Why   string // what has come from outside; empty where nothing has
		Sick  string // why its machine is not fit to train; empty where it is
		Saves bool   // its workers wait to hear at which step all save before they go
	}

	// Serve tells the job of the workers' part in a save that all make.
	Serve struct{ rendezvous.Service }

	// Tell has the ranks told at which step they save and leave: [Told].
	Tell struct {
		Round int
		Text  string // what they read
	}

	// Part takes this node out of the job while its exit hooks run: others must not wait for them.
	Part struct{}

	// StartHook starts the exit hook of this number, first those of OnExit, then those of OnJobEnd, telling it how the run
	// has ended: nothing, or [NotForked], at once.
	StartHook struct {
		Number int
		End    exitcodes.Message
	}

	// FlushHook ends the hook's output: [HookFlushed].
	FlushHook struct{}

	// Flush writes out what is still to be seen: [Flushed].
	Flush struct{}

	// GiveTerminal brings a worker to the terminal's foreground: [Handed]. Take does so from the background, in which the
	// kernel stops gangrun too until a shell continues it.
	GiveTerminal struct {
		Worker int
		Take   bool
	}

	// StopSelf stops gangrun, or its whole process group, as the terminal's stop key would have.
	StopSelf struct{ Group bool }
)

func (Prepare) effect()      {}
func (Abandon) effect()      {}
func (Probe) effect()        {}
func (StopProbes) effect()   {}
func (Join) effect()         {}
func (Fork) effect()         {}
func (Send) effect()         {}
func (Gather) effect()       {}
func (Amend) effect()        {}
func (Hold) effect()         {}
func (Release) effect()      {}
func (Dump) effect()         {}
func (Concluded) effect()    {}
func (Sweep) effect()        {}
func (Look) effect()         {}
func (Forget) effect()       {}
func (Record) effect()       {}
func (Log) effect()          {}
func (Ending) effect()       {}
func (Failing) effect()      {}
func (Gone) effect()         {}
func (Leave) effect()        {}
func (Serve) effect()        {}
func (Tell) effect()         {}
func (Part) effect()         {}
func (StartHook) effect()    {}
func (FlushHook) effect()    {}
func (Flush) effect()        {}
func (GiveTerminal) effect() {}
func (StopSelf) effect()     {}

// Evidence is what a worker is judged by.
type Evidence int

// From nothing but the status to everything.
const (
	StatusOnly  Evidence = iota // a plain init's view
	MachineOnly                 // what the machine knows: it never ran, or was stopped for another's sake
	WithOutput                  // and its last words, by which no rule decides
	Everything                  // and the rules, and its error file
)
