package hang

import "time"

// Mode says what follows from a hang.
type Mode string

// The modes. The zero value acts where steps are told, and observes elsewhere.
const (
	Auto    Mode = ""
	Act     Mode = "act"     // also where only output, CPU time and I/O speak
	Observe Mode = "observe" // says what Act would do, and does nothing
	Off     Mode = "off"
)

// Policy is what a detector is told at its start.
type Policy struct {
	Mode Mode
	// Timeout is how long a silence may last: between two steps where steps are told, between two pieces of output where
	// they are not. 0 is for what is usual: see [Usual] and [Quiet].
	Timeout time.Duration
	// ExitTimeout is the same for workers of which all have told that they are about to end. 0 is for [UsualExit].
	ExitTimeout time.Duration
}

// The limits where Timeout does not say them.
const (
	// Usual is the least limit where steps are told; the slowest step so far times Factor is the other.
	Usual  = time.Minute
	Factor = 5
	// Calm is how many lines that show a step have to come before the time between them says how long the next one may take, none of
	// them later than half as much again as any before. Until then there may be one for each of the first ten steps, and then one
	// for a hundred: the limit is Quiet, or the slowest times Spread, as where each comes ten times as late as the one before.
	Calm   = 20
	Spread = 15
	// Quiet is the limit where only output, CPU time and I/O speak, and in a phase of which it is unknown how long it
	// takes: an evaluation, a checkpoint.
	Quiet = 15 * time.Minute
	// PutOff is how long since the last step output and I/O can put off a hang where steps were told: an evaluation may be
	// followed by a checkpoint.
	PutOff = 2 * Quiet
	// UsualExit is the limit where all have told that they are about to end.
	UsualExit = time.Minute
	// ConfirmTime is how long a suspicion has to last; LateTime where the evidence is not there by then. What is left of two
	// seconds is for a busy machine.
	ConfirmTime = time.Second
	LateTime    = 3 * ConfirmTime / 2
)

const (
	// grows is how much of the longest time between two steps is longer than that, in percent.
	grows = 150
	// period is how often a detector wants to be asked, but for short limits.
	period = time.Second
	// asleep is how much later than that is no longer a busy machine: this process did not run, and nor did the others.
	asleep = 5 * time.Second
	// enough is how many steps, or pieces of output, there have to be before their absence says something.
	enough = 2
	// busyIO is how many bytes in a second are work, and not a thread that writes a line now and then.
	busyIO = 64 << 10
	// busyCPU is how much of one processor is work.
	busyCPU = 0.01
)

// The phases whose limits differ. Whatever else is told is a phase of its own, as one that takes its time.
const (
	Train = "train"
	Exit  = "exit"
)
