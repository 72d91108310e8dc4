package exitcodes

import "time"

// Status is how a process ended, from its wait status: an exit code, or a death by signal. The two must not be mixed:
// exit code 137 is what somebody says, signal 9 is what happened.
type Status struct {
	Code   int // meaningless when Signal is set
	Signal int // 0 for an ordinary exit
}

// Number is the status as a shell puts it: the exit code, or 128 plus the signal.
func (s Status) Number() int {
	if s.Signal != 0 {
		return CodeSignalBase + s.Signal
	}
	return s.Code
}

// Stop says what gangrun had done to a worker before it ended.
type Stop int

const (
	NotStopped     Stop = iota
	StoppedByGang       // gangrun stopped it because another worker had failed: it is never the cause
	StoppedOutside      // gangrun had passed on a stop signal from outside
)

// Known is a yes or no that may be unknown, which is neither.
type Known int

const (
	Unknown Known = iota
	Yes
	No
)

// Outcome is what happened to one worker, with all the evidence that was found. Absent evidence is the zero value.
type Outcome struct {
	Node            string
	Rank, LocalRank int // -1 when not known
	Role            string
	StartedAt, At   time.Time // when it started and ended, by the supervisor's clock; the first is zero when not known

	Stop       Stop
	StopSignal int       // the signal from outside, for StoppedOutside
	StoppedAt  time.Time // when gangrun stopped it; what it said later is its answer. Zero when not known.

	// Checkpoint says what went wrong with the checkpoint that the worker was given: it cannot be read any more, or the
	// worker resumed from another step and gangrun has stopped it. Empty when nothing did. Reload asks for another try
	// instead of the end.
	Checkpoint string
	Reload     bool

	// Hang is set when gangrun has ended the worker because it got nowhere, and takes it for the cause of that.
	Hang *Hang

	// Lingered is why gangrun has ended a worker that had finished and did not end; empty when it has not.
	Lingered string

	// NotStarted is why the worker never ran; Status.Code then is 126, 127, or 0 when the machine was at fault.
	NotStarted string
	Status     Status

	OOMKills         int       // processes of this container killed by the kernel for memory since the worker's start
	Kills            []Kill    // the same, as far as the kernel's log tells when and whom
	SharedMemoryFull bool      // /dev/shm had no room left at the end
	Xids             []Xid     // what the GPU driver logged since the worker's start
	ErrorFile        []byte    // content of the torchelastic error file, if the worker left one
	Output           []byte    // the last output of the worker, standard output and error together
	Unseen           bool      // there was more of it, which went to a terminal and not through gangrun
	Arrived          []Arrival // when the parts of Output arrived; may be nil
	StepAt           time.Time // when the worker last reported a step; zero when it did not
	Progressed       Known     // whether training made a step in this round; Unknown: it tells none
	// OnUnknown says what an exit code from 1 to 125 means that nothing explains.
	OnUnknown OnUnknown

	shared *sharedText // Output, where it is that of other judgements, too
	meter  *meter      // of this judgement

	told     string     // what a launcher's report has of the death by a signal
	recorded *ErrorFile // what a launcher's report has of the rank's error file
	died     time.Time  // by the clock of Arrived; zero where that is At
	// others reports whether lines that are nobody's show steps of the training: those are this rank's, too. nil: there are none.
	others  func() bool
	nobodys bool // Output carries no rank's name: it is this one's because no other has failed by itself
}

// OnUnknown is what becomes of an ordinary exit code that no rule and no family explains.
type OnUnknown string

// The choices. The zero value is UnknownFatal.
const (
	UnknownFatal              OnUnknown = "fatal"
	UnknownRetry              OnUnknown = "retry"
	UnknownRetryAfterProgress OnUnknown = "retry-after-progress" // a retry once the round has made a step
)

// retries says what is done to a failure that it makes a retry.
func (u OnUnknown) retries() string {
	if u == UnknownRetryAfterProgress {
		return "what is unknown is retried after progress"
	}
	return "what is unknown is retried"
}

// Hang is what gangrun knows about a worker that makes no progress.
type Hang struct {
	Why      string // what it did not do, and where it stands, in words; follows the name of the worker
	Evidence string // by which it is told from the others; empty: nothing tells them apart
	Echo     bool   // it waits for others, which may know more
	Failed   bool   // it has said that it fails, whoever caused that, and does not end
}

// Kill is one process that the kernel killed for memory.
type Kill struct {
	At   time.Time // zero when not known
	PID  int       // in the machine's numbers; 0 when not known
	Comm string    // the name of its program, at most 15 bytes
}

// Finding is what the evidence says about one worker, and what would be done if it is the cause.
type Finding struct {
	Verdict Verdict
	Reason  string // a CamelCase word
	Message string // a sentence for a person
	Code    int    // what gangrun exits with if this is the cause and nothing is retried
	Role    Role   // how likely it is the cause, across workers

	Rule     string   // the rule that decided, if one did
	Evidence string   // what decided: a line of the log, a status, a counter
	Other    string   // the other candidate, where there was one: the exception that ended the program, or what it came from
	Names    []int    // ranks that the evidence of somebody else's failure accuses
	Hosts    []string // hosts that it names as the other end of a lost connection
	Said     *Finding // what a worker that gangrun stopped had said about a failure of its own; nil when it had not
	Unknown  bool     // neither a rule nor a family knows why: the exit code alone decided
	Output   []byte   // the end of what the worker printed, without what a launcher said about it

	Node            string
	Rank, LocalRank int  // -1 when not known
	ExitCode        *int // of the cause; nil when a signal killed it or it never ran
	Signal          int  // that killed the cause
	WorkerCode      *int // of the process that was supervised: the launcher's, where a launcher reports the cause
	At              time.Time
	// CodeOverridden is set when a rule made the verdict another than the worker's own code says.
	CodeOverridden bool
	// NodeFault is set when the machine, not the job, is broken: a restart in place would fail again.
	NodeFault bool

	told string // the evidence, where it only tells of the death
}
