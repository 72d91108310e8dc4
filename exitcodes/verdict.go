package exitcodes

// Verdict says what to do about how a worker, or a whole job, ended.
type Verdict string

// The verdicts. Preempted and Suspended are ends that were asked for from outside: nobody's failure, worth resuming.
const (
	Success   Verdict = "success"
	Retry     Verdict = "retry"
	Fatal     Verdict = "fatal"
	Preempted Verdict = "preempted"
	Suspended Verdict = "suspended"
)
