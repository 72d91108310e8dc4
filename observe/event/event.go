package event

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// Version is the number of the format, the value of the key "v".
const Version = 1

// Type says what has happened.
type Type string

// The types of events, in the order in which a run has them.
const (
	RunStarted      Type = "run.started"      // gangrun has started on this node
	RoundBegan      Type = "round.began"      // the job has ordered the round to begin
	RoundRunning    Type = "round.running"    // all workers of this node run
	Progress        Type = "progress"         // every worker that reports has finished the step; at most every 5 s
	SavingBegan     Type = "saving.began"     // a worker says that it saves a checkpoint
	SavingEnded     Type = "saving.ended"     // none does any more
	StragglerFound  Type = "straggler.found"  // the others wait for a rank, step after step
	StragglerOver   Type = "straggler.over"   // they do not any more
	CheckpointSaved Type = "checkpoint.saved" // a newer checkpoint is known of
	RoundStopping   Type = "round.stopping"   // the first worker has ended, or the workers are told to
	WorkerFailed    Type = "worker.failed"    // a worker has failed by itself, and this is why
	RoundEnded      Type = "round.ended"      // nothing of the round's workers is left on this node
	Leaving         Type = "leaving"          // this node is to leave the job
	RunEnded        Type = "run.ended"        // gangrun ends
	EventsDropped   Type = "events.dropped"   // the receiver was too slow, and this many events before did not reach it
)

// Event is one thing that has happened on one node.
type Event struct {
	V    int       `json:"v"`
	ID   string    `json:"id"`  // of this event, the same wherever it goes
	Seq  int64     `json:"seq"` // counts the events of one gangrun process from 1; a gap tells of events that are lost
	At   time.Time `json:"at"`  // when it happened, by this machine's clock, in UTC, to the millisecond
	Type Type      `json:"type"`

	Source string `json:"source"` // of one gangrun process: random, and the beginning of its events' ids
	Job    string `json:"job,omitempty"`
	Node   string `json:"node,omitempty"`
	Role   string `json:"role,omitempty"`
	// Run is the job's run, the same on all nodes; empty before the first round.
	Run   string `json:"run,omitempty"`
	Round *int   `json:"round,omitempty"` // the current one, or the last
	Step  *int64 `json:"step,omitempty"`  // the last that every worker which reports has finished in this round

	// Steps is how many steps the training run has in all; left out while no worker has told.
	Steps *int64 `json:"steps,omitempty"`

	// What there is to say of events of one type only.
	Started    *Started    `json:"started,omitempty"`
	Began      *Began      `json:"began,omitempty"`
	Running    *Running    `json:"running,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	Straggler  *Straggler  `json:"straggler,omitempty"`
	Stopping   *Stopping   `json:"stopping,omitempty"`
	Failed     *Failed     `json:"failed,omitempty"`
	RoundEnd   *RoundEnd   `json:"roundEnd,omitempty"`
	Leave      *Leave      `json:"leave,omitempty"`
	End        *End        `json:"end,omitempty"`
	Dropped    *Dropped    `json:"dropped,omitempty"`
}

// Started is about a run that starts.
type Started struct {
	Version     string `json:"version"` // of gangrun
	MaxRestarts int    `json:"maxRestarts"`
}

// Began is about a round that begins.
type Began struct {
	Resume  *Resume  `json:"resume,omitempty"`  // the checkpoint that gangrun has chosen; left out: none
	Restart *Restart `json:"restart,omitempty"` // why there is another round; left out for the first of this process
	// StartsOver is set where there was no checkpoint although gangrun has looked for one.
	StartsOver bool `json:"startsOver,omitempty"`
	// LostSteps is how many steps this node's workers had made beyond what the round resumes from; left out: unknown.
	LostSteps *int64 `json:"lostSteps,omitempty"`
	// Banned are the hosts that the job does without as far as it can: something went wrong there three times.
	Banned   []string `json:"banned,omitempty"`
	Restarts Restarts `json:"restarts"`
}

// Resume is a checkpoint to resume from.
type Resume struct {
	Path     string `json:"path"`
	Step     *int64 `json:"step,omitempty"` // in steps where Unit is left out; left out: it does not tell
	Unit     string `json:"unit,omitempty"`
	FallBack bool   `json:"fallBack,omitempty"` // it is not the newest: that led to the same failure again
}

// Kind says what sort of interruption it was.
type Kind string

// The kinds of interruptions.
const (
	Failure   Kind = "failure"   // a worker has failed, or a node was lost; the budget pays for it
	Departure Kind = "departure" // a node has left as announced
	Store     Kind = "store"     // a node could not reach the store, and the workers were stopped in time
	Asked     Kind = "asked"     // somebody has asked for it, or there were nodes to admit
)

// Restart is why there is another round. It is the same on all nodes.
type Restart struct {
	Kind   Kind   `json:"kind"`
	Reason string `json:"reason,omitempty"` // such as OOMKilled, NodeLost, Preempted
	Node   string `json:"node,omitempty"`   // on which it was, as the job has judged
}

// Restarts is how much of the job's budget is used.
type Restarts struct {
	Used        int `json:"used"` // since the last progress
	Max         int `json:"max"`
	Total       int `json:"total"` // in this run of the job
	Preemptions int `json:"preemptions"`
}

// Running is about workers that were started.
type Running struct {
	Workers int `json:"workers"`
	// RecoverySeconds is the time from the failure, or the order to stop, to this; left out in the first round.
	RecoverySeconds float64 `json:"recoverySeconds,omitzero"`
}

// Checkpoint is the newest one that is known of.
type Checkpoint struct {
	Path     string    `json:"path"`
	Step     int64     `json:"step"`
	Modified time.Time `json:"modified"`
}

// Straggler is a rank for which the others wait, step after step, or a node, minute after minute.
type Straggler struct {
	// Node is a node for which the others wait, and Rank the one of its ranks that takes longest; left out where it is but a
	// rank of this node. The node that leads tells of it.
	Node  string `json:"node,omitempty"`
	Rank  int    `json:"rank"`
	Late  int    `json:"late"`  // in so many
	Steps int    `json:"steps"` // of so many; of a node, both are minutes
	// ExcessSeconds is how much longer than those of the others its steps were, on average, and StepSeconds how long the whole
	// step was.
	ExcessSeconds float64 `json:"excessSeconds"`
	StepSeconds   float64 `json:"stepSeconds"`
	// By says by what it was found.
	By Sign `json:"by"`
}

// Sign is what shows a straggler.
type Sign string

// The signs.
const (
	ByOwnTime Sign = "own"     // the ranks tell how much of a step is their own
	ByArrival Sign = "arrival" // when they come to the same step
)

// Stopping is why a round stops on this node.
type Stopping struct {
	By  By     `json:"by"`
	Why string `json:"why"` // a sentence
}

// By says who has stopped a round.
type By string

// Those who stop rounds.
const (
	ByWorker  By = "worker"  // one of this node has ended
	ByJob     By = "job"     // something has happened elsewhere, or somebody has asked for it
	ByOutside By = "outside" // a stop signal, a notice, the time limit
	ByHealth  By = "health"  // a worker does not do what it should
)

// Failed is about a worker that has failed by itself.
type Failed struct {
	Verdict   exitcodes.Verdict `json:"verdict"`
	Reason    string            `json:"reason"`
	Message   string            `json:"message"`
	Rank      *int              `json:"rank,omitempty"`
	LocalRank *int              `json:"localRank,omitempty"`
	ExitCode  *int              `json:"exitCode,omitempty"`
	Signal    string            `json:"signal,omitempty"`
	At        time.Time         `json:"at"`
	Rule      string            `json:"rule,omitempty"`
	Evidence  string            `json:"evidence,omitempty"`
	// Cause is set for the one that this node takes to be the cause of the others.
	Cause bool `json:"cause,omitempty"`
	// LastWords are the last lines that the cause has printed, without what a launcher said about it.
	LastWords string `json:"lastWords,omitempty"`
}

// RoundEnd is how a round has ended on this node.
type RoundEnd struct {
	// Verdict is empty where the workers were only stopped, for another node's sake or because somebody asked for it.
	Verdict exitcodes.Verdict `json:"verdict,omitempty"`
	Reason  string            `json:"reason,omitempty"`
	Workers Ends              `json:"workers"`
}

// Ends counts how workers have ended.
type Ends struct {
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`  // by themselves
	Stopped   int `json:"stopped"` // by gangrun, or from outside
}

// Leave is why this node leaves.
type Leave struct {
	Why string `json:"why"` // a sentence
}

// End is how the run has ended on this node, in the words of the termination message. The step and the round are
// those of the event.
type End struct {
	Verdict         exitcodes.Verdict    `json:"verdict"`
	Reason          string               `json:"reason,omitempty"`
	Message         string               `json:"message,omitempty"`
	ExitCode        int                  `json:"exitCode"`
	RootCause       *exitcodes.RootCause `json:"rootCause,omitempty"`
	Restarts        Restarts             `json:"restarts"`
	RecoverySeconds float64              `json:"recoverySeconds,omitzero"`
	StartedAt       time.Time            `json:"startedAt"`
	FinishedAt      time.Time            `json:"finishedAt,omitzero"`
	Hooks           []exitcodes.Hook     `json:"hooks,omitempty"`
}

// Dropped says how many events did not reach this receiver since the last that did.
type Dropped struct {
	Count int64 `json:"count"`
}
