package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// Event is something that has happened. A worker is named by its index in the round, the running exit hook by [Hook].
type Event interface{ event() }

// Hook stands for the exit hook that runs, in the place of a worker's index.
const Hook = -1

type (
	// Begin is the job's order to start a round.
	Begin struct {
		Run   string // of the job, the same on all nodes
		Round int
		// Path is the checkpoint to resume from, as the workers find it; empty when there is none. Step is how far it has
		// come, in steps where Unit is empty, nil where it does not tell: then Identity is what it is known by.
		Path     string
		Step     *int64
		Unit     string
		Identity string
		// FallBack tells that it is an older one, because the newest led to the same failure again.
		FallBack bool
		// Unresumed is why the workers cannot be started: the checkpoint cannot be used here. Empty: they can.
		Unresumed string
		Looked    bool     // for checkpoints
		Banned    []string // hosts that the job does without, as far as it can
		Blamed    string   // the node on which the round before has failed, as the job has judged; empty: on none
		StoreLost bool     // the round before was stopped because a node could not reach the store
	}

	// Stop is the job's order to stop a round's workers.
	Stop struct {
		Round     int
		Why       string
		Suspend   bool // the job is to pause: the workers may take the time to save what they have
		Departure bool // another node leaves as announced, and nothing has failed
		// Silence is how long the lost node has been silent: the failure is as old as that.
		Silence time.Duration
		// Expedite tells that others may soon run without this node: the time that it was given before is shortened.
		Expedite bool
		// Failure is the reason of the failure, or loss, elsewhere for which they are stopped; empty where it is another.
		Failure string
		// Silent tells that the workers here made no progress either: their stacks may show why.
		Silent bool
	}

	// Ask is the job's question how far the workers are, for a save that all make: [Serve] answers.
	Ask struct{ Round int }

	// Save is the job's order to save at a step that all have agreed on, and to leave.
	Save struct {
		Round     int
		Step      *int64 // the last to be finished; nil: as soon as each can
		Why       string
		Departure bool // another node leaves, and nothing has failed
	}

	// Told answers [Tell].
	Told struct {
		Round int
		Err   string // why the ranks could not be told; empty: they were
	}

	// End is the job's order to end. It comes once, and last.
	End struct {
		rendezvous.End
		EndsJob bool // it was this node that has ended the job
	}

	// Budget is how much of the job's restarts is used. It comes before each order.
	Budget struct{ rendezvous.Budget }

	// Saved is the newest checkpoint that is known of.
	Saved struct {
		Path     string
		Step     int64
		Unit     string // what Step counts, where it is not steps
		Modified time.Time
	}

	// Signaled is a signal from outside.
	Signaled struct {
		Signal Signal
		Front  bool // gangrun is the terminal's foreground process group
	}

	// Prepared says that the round's workers can be started, or why one of them cannot. There are none where it is not
	// even known which workers there would be.
	Prepared struct {
		Workers []Worker
		Failure *Failure
		Failed  int // the worker that the failure is about
		// MayStart is false where the store has not been heard of for so long that others may count this node as gone.
		MayStart bool
	}

	// Forked says that a worker runs.
	Forked struct {
		Worker, PID int
		Handed      bool // it has the terminal
	}

	// NotForked says that a worker, or the exit hook, could not be started.
	NotForked struct {
		Worker  int
		Failure Failure
	}

	// Paused says that job control has stopped or continued a worker.
	Paused struct {
		Worker int
		By     Signal // 0: it was continued
		// Stopped is whether it is stopped now: the news may be old.
		Stopped bool
	}

	// Handed says whether the terminal is the worker's, after it was to be given to it.
	Handed struct{ Worker bool }

	// Exited is the end of a worker or a hook.
	Exited struct {
		Worker int
		Status exitcodes.Status
		At     time.Time
		Alone  bool // no process of any kind is left
	}

	// Alone says that the last orphan is gone: no process of any kind is left.
	Alone struct{}

	// Judged is what the evidence says about a worker that has ended.
	Judged struct {
		Worker  int
		Finding exitcodes.Finding
	}

	// Amended are all findings of the round in the light of what is known once its last worker is gone.
	Amended struct {
		Findings []exitcodes.Finding
		Hung     []int // the workers, one at most, for which the others waited
	}

	// Reported is what the workers say of themselves, one element for each.
	Reported []Report

	// Straggles says that a rank makes the others wait, step after step, or no longer does.
	Straggles struct {
		Rank int
		Over bool
		// Own says that the ranks have told what of a step was their own; else it is by when they come to the same step.
		Own         bool
		Late, Steps int           // it was late in so many of the last steps
		Excess      time.Duration // on average, by which it took longer than the others
		Step        time.Duration // the average length of a step
	}

	// Slows says that a node makes the others wait, minute after minute, or no longer does. Only one node is told.
	Slows rendezvous.SlowNode

	// Hung says that the workers make no progress, and are to be ended.
	Hung struct {
		Why      string // since when they show no progress
		Standing string // how far each has come; empty where none has told
		// Exiting tells that all that live have said that they are about to end.
		Exiting bool
		// Failed tells that the last words of one that lives are those of a program that has failed.
		Failed bool
	}

	// Held answers [Hold].
	Held struct{}

	// Dumped answers [Dump] with the workers that were asked for their stacks: they have written them, or had the time.
	Dumped struct{ Asked []int }

	// Swept answers [Sweep] with the processes that there were.
	Swept struct{ Found []Process }

	// Looked answers [Look] with the state of a killed worker or hook.
	Looked struct {
		Worker int
		Found  []Process // none when it is gone
	}

	// Probed answers [Probe]: what makes the machine unfit, and what is worth a word, each a sentence.
	Probed struct{ Sick, Notes []string }

	// HookFlushed is the end of what a hook that is over has printed.
	HookFlushed struct{ Output []byte }

	// Flushed says that everything there was to be written is written.
	Flushed struct{}

	// Tick is the passing of time: a deadline has come.
	Tick struct{}
)

func (Begin) event()       {}
func (Stop) event()        {}
func (Ask) event()         {}
func (Save) event()        {}
func (Told) event()        {}
func (End) event()         {}
func (Budget) event()      {}
func (Saved) event()       {}
func (Signaled) event()    {}
func (Prepared) event()    {}
func (Forked) event()      {}
func (NotForked) event()   {}
func (Paused) event()      {}
func (Handed) event()      {}
func (Exited) event()      {}
func (Alone) event()       {}
func (Judged) event()      {}
func (Amended) event()     {}
func (Reported) event()    {}
func (Straggles) event()   {}
func (Slows) event()       {}
func (Hung) event()        {}
func (Held) event()        {}
func (Dumped) event()      {}
func (Swept) event()       {}
func (Looked) event()      {}
func (Probed) event()      {}
func (HookFlushed) event() {}
func (Flushed) event()     {}
func (Tick) event()        {}

// Worker is what there is to know about a worker before it runs.
type Worker struct {
	Rank, LocalRank int // -1 when not known
	Terminal        bool
	Session         bool
}

// Failure is why something could not be started.
type Failure struct {
	Why  string
	Code int // what a shell would exit with: 126 or 127; 0 when the machine, not the command, is at fault
}

// Report is what one worker has said last.
type Report struct {
	Step   *int64    // that every rank of it has finished; nil when it has told none
	At     time.Time // when the newest step of any came
	Saving bool      // a rank saves a checkpoint
	// Most is the step that the furthest rank has finished, MostAt when it told that, Looks that all its ranks look at the file that tells the step
	// at which to save and leave, Blind which of them do not, and Leaving that all are about to end.
	Most    *int64
	MostAt  time.Time
	Looks   bool
	Blind   []int
	Leaving bool
	Total   *int64 // steps that the training run has in all; nil when it has not told
}

// Process is a living process below gangrun.
type Process struct {
	PID  int
	Name string
	Dead bool // it, or at least its first thread, has ended
	Deep bool // it sleeps where not even SIGKILL reaches it
}

// String names the process for a person.
func (p Process) String() string { return fmt.Sprintf("%d (%s)", p.PID, p.Name) }

// Names lists processes for a person, bounded.
func Names(found []Process) string {
	const most = 20
	var list []string
	for i, p := range found {
		if i == most {
			list = append(list, fmt.Sprintf("and %d more", len(found)-most))
			break
		}
		list = append(list, p.String())
	}
	return strings.Join(list, ", ")
}
