package account

import (
	"time"

	"github.com/gangrun/gangrun/observe/event"
)

// Source is where time has gone that was not spent on steps that count. Every moment of a run belongs to one of these
// or to training.
type Source string

// The sources of badput.
const (
	Startup        Source = "startup"         // from the order to begin a round to the first step that is told, which it includes
	CheckpointSave Source = "checkpoint_save" // a worker said that it saves, and no step was finished meanwhile
	LostProgress   Source = "lost_progress"   // steps that had to be made again, and the one that a failure has cut off
	Detection      Source = "detection"       // from the last step, and the time of one more, to the failure or the order to stop
	Stop           Source = "stop"            // from there until nothing of the round is left
	Rendezvous     Source = "rendezvous"      // without a round: forming, backoff, choosing a checkpoint
	Idle           Source = "idle"            // no gangrun ran on this node while the job did; in a report alone
	Other          Source = "other"           // after the last step of a round that succeeds, or that was stopped from outside
	Unknown        Source = "unknown"         // the workers ran and have told no step
)

// Sources are all of them.
func Sources() []Source {
	return []Source{Startup, CheckpointSave, LostProgress, Detection, Stop, Rendezvous, Idle, Other, Unknown}
}

// Phase is where a node stands.
type Phase string

// The phases of a node.
const (
	Forming  Phase = "forming"  // no round: it waits for the others, or for the job to say what follows
	Starting Phase = "starting" // workers are being started
	Running  Phase = "running"
	Stopping Phase = "stopping" // workers are being stopped, or have ended, and are cleared up after
	Ended    Phase = "ended"
)

// Phases are all of them.
func Phases() []Phase { return []Phase{Forming, Starting, Running, Stopping, Ended} }

// Summary is what the events of one gangrun process come to at one moment. Times are seconds, to the millisecond. Its
// JSON form is stable: keys may be added.
type Summary struct {
	V      int    `json:"v"`
	Job    string `json:"job,omitempty"`
	Node   string `json:"node,omitempty"`
	Role   string `json:"role,omitempty"`
	Source string `json:"source"`
	Run    string `json:"run,omitempty"`

	Phase    Phase      `json:"phase"`
	Since    time.Time  `json:"since"` // of the phase
	Leaving  string     `json:"leaving,omitempty"`
	Round    *int       `json:"round,omitempty"`
	Workers  int        `json:"workers"`
	Exits    event.Ends `json:"workerExits"`    // over all rounds
	Step     *int64     `json:"step,omitempty"` // that all workers which report have finished
	StepMax  *int64     `json:"stepMax,omitempty"`
	StepAt   time.Time  `json:"stepAt,omitzero"` // when it was told
	StepTime float64    `json:"stepSeconds,omitzero"`
	// Steps is how many the training run has in all, and Remaining the time that the others will take, at the pace of this
	// round; left out where no worker has told how many, none has been timed, or it would be more than ten years.
	Steps     *int64   `json:"steps,omitempty"`
	Remaining *float64 `json:"remainingSeconds,omitempty"`
	// Behind is who of this node's workers is behind the others; left out where those that report are level. It is of the
	// moment: no event tells it.
	Behind     *Behind           `json:"behind,omitempty"`
	Checkpoint *event.Checkpoint `json:"checkpoint,omitempty"`
	// Stragglers are the ranks of this node for which the others wait, the worst first.
	Stragglers []event.Straggler `json:"stragglers,omitempty"`
	// SlowNodes are the nodes for which the others wait, the worst first, where this node leads.
	SlowNodes []event.Straggler `json:"slowNodes,omitempty"`

	StartedAt time.Time `json:"startedAt"`
	At        time.Time `json:"at"` // of this summary; the end, where there is one
	Elapsed   float64   `json:"elapsedSeconds"`
	// Productive is the time of steps that count: made, and not made again. Training has those, too, that were made again.
	Productive float64 `json:"productiveSeconds"`
	Training   float64 `json:"trainingSeconds"`
	// Pending is what has passed since the last event, where only the next one tells what it was.
	Pending float64            `json:"pendingSeconds"`
	Badput  map[Source]float64 `json:"badputSeconds"`
	// Goodput is productive over elapsed time; left out where no step was ever told.
	Goodput *float64 `json:"goodput,omitempty"`

	Restarts    event.Restarts `json:"restarts"`         // of the job
	Banned      []string       `json:"banned,omitempty"` // hosts, when the last round began
	Restarted   int            `json:"restarted"`        // by this process
	Reasons     map[string]int `json:"restartReasons"`
	Causes      []Cause        `json:"causes"` // of the interruptions, by how much they have cost
	First       *Disruption    `json:"firstDisruption,omitempty"`
	Disruptions []Disruption   `json:"disruptions"` // the latest, the newest last
	Outcome     *event.End     `json:"outcome,omitempty"`
}

// Behind is a worker that is behind others.
type Behind struct {
	Rank  *int  `json:"rank,omitempty"`
	Steps int64 `json:"steps"` // of the furthest
}

// Disruption is one round that was interrupted, and what that has cost this node, in seconds.
type Disruption struct {
	Round  int           `json:"round"`
	At     time.Time     `json:"at"`
	Kind   event.Kind    `json:"kind,omitempty"`
	Reason string        `json:"reason,omitempty"` // the job's; empty while it is not known, and where somebody has asked for it
	By     event.By      `json:"by"`
	Why    string        `json:"why"`
	Node   string        `json:"node,omitempty"` // whose worker it was; left out where that is not known here
	Cause  *event.Failed `json:"cause,omitempty"`
	// Blamed is the node on which it was, as the job has judged: of several that have a cause of their own, that one's counts.
	Blamed string `json:"-"`
	// LostSteps is how many steps had to be made again; left out where it is not known.
	LostSteps *int64             `json:"lostSteps,omitempty"`
	Cost      map[Source]float64 `json:"costSeconds"`
	Total     float64            `json:"totalSeconds"`
	Over      bool               `json:"over"`            // training goes on, or the run has ended
	Final     bool               `json:"final,omitempty"` // the run has ended with it
}

// Cause is what interruptions of one reason have cost.
type Cause struct {
	Reason    string  `json:"reason"`
	Count     int     `json:"count"`
	Seconds   float64 `json:"seconds"`
	LostSteps int64   `json:"lostSteps"` // as far as they are known
}
