package node

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// Policy is what the node was told at its start. It does not change.
type Policy struct {
	Job, Node, Role string
	StartedAt       time.Time // of gangrun
	Alone           bool      // there is no other node

	MaxRestarts int  // for the message; the job decides
	NoRestart   bool // the job restarts nothing
	RestartAny  bool // the job may restart after a fatal verdict, too
	RetryCode   int  // exit with it for every retry verdict; 0 keeps each its own

	SilentRestart SilentRestart
	Preflight     bool // the machine is checked before the first round, and between rounds where there is reason to

	Grace        time.Duration // from a stop signal from outside to SIGKILL
	SaveGrace    time.Duration // the same for a worker that saves a checkpoint; 0: no more than Grace
	RestartGrace time.Duration // the same when gangrun itself stops a worker
	Notice       Notice
	TimeLimit    time.Duration // from StartedAt until the run on this node has to be over; 0: none

	Leftovers Leftovers
	// WholeGroup sends what is passed on to a worker to its process group.
	WholeGroup bool
	// Sessions gives each worker a session of its own and does job control, as dumb-init does.
	Sessions  bool
	SignalMap map[Signal]Signal // what comes in → what is passed on; 0 drops it
	// StopSignals ask for the end; others are only passed on.
	StopSignals []Signal
	// StopVerdictWorker gives a worker that was stopped from outside its own verdict, as a plain init would.
	StopVerdictWorker bool
	OnUnknown         exitcodes.OnUnknown // what an ordinary exit code means that nothing explains

	Terminal Terminal

	OnExit, OnJobEnd []string      // the names of the exit hooks; the latter only where this node has ended the job
	HookTimeout      time.Duration // of each hook, from its start to SIGTERM
	HookIgnore       bool          // a hook that fails is only reported

	Kills []Kill // failures to rehearse
}

// Notice is the signal by which a scheduler says that the end is near.
type Notice struct {
	Signal Signal        // 0: there is none
	Grace  time.Duration // from it to SIGKILL
}

// Terminal is the controlling terminal on standard input as the node finds it.
type Terminal struct {
	Present bool // there is one
	Leader  bool // gangrun leads the session: no shell with job control is above it
	Handed  bool // it is, or will be, the worker's
}

// Leftovers says what to do with the processes that a worker leaves behind at the end of the run. Between rounds they
// are always killed.
type Leftovers string

// What becomes of them.
const (
	LeftoversKill  Leftovers = "kill"  // SIGTERM, a second, SIGKILL
	LeftoversTerm  Leftovers = "term"  // SIGTERM, and no waiting
	LeftoversLeave Leftovers = "leave" // nothing; PID 1 takes them along all the same
)

// SilentRestart says what to do with a worker that was given a checkpoint and began before it.
type SilentRestart string

// What becomes of such a worker.
const (
	SilentRestartFatal    SilentRestart = "fatal"    // it ends the job
	SilentRestartFallback SilentRestart = "fallback" // all restart, from an older checkpoint
	SilentRestartIgnore   SilentRestart = "ignore"
)

// Kill rehearses a failure: one worker is killed, once in a run.
type Kill struct {
	Rank   int
	Signal Signal
	After  time.Duration // after the start of the worker, when AtStep is nil
	AtStep *int64        // once the worker has reported this step
}
