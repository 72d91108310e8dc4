package rendezvous

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// What a node does. ActWait stands here too.
const (
	ActGo          Action = "Go"          // its workers run as they should
	ActStart       Action = "Start"       // start the workers of Step.Round
	ActHalt        Action = "Halt"        // stop the workers; acknowledge when the last process is gone
	ActAcknowledge Action = "Acknowledge" // say that nothing runs for Step.Round, for which nothing was started
	ActRejoin      Action = "Rejoin"      // put the key into a store that is not the one it was in
	ActReturn      Action = "Return"      // say that it came to the finished record to train again (Node.ReopenSeq)
	ActLeave       Action = "Leave"       // put the key for the last time, without a lease, and exit
)

// WhyUnformed is why a node waits that knows no more: what the job waits for is the leader's to say.
const WhyUnformed = "no round is formed yet; gangrun status and the leader's log say what the job waits for"

// ReasonReplaced is the reason of a node that found another incarnation under its name.
const ReasonReplaced = "Replaced"

// Self is what a node knows about itself.
type Self struct {
	Name        string
	Incarnation string
	// RunUID is as in its record: what it was told, else that of the first live record that it saw.
	RunUID string
	Spec   Spec
	// State and Round are as in its record: the round that it runs or has last run, -1 for none.
	State State
	Round int
	// Store is the token of the store that these are about.
	Store string
	// Joined is the Seq of the first job record that it saw in this store, 0 if there was none.
	Joined    int64
	ReopenSeq int64 // as in its record
	Role      string
	// Again is set where the workers of Round have failed, the node's role restarts alone, and it is time to.
	Again   bool
	Leaving bool // it was asked to stop
	// Asks is set while its workers, although it leaves, go on until they have saved with all others.
	Asks  bool
	Taken bool // another incarnation has its key
	Guard Guard
}

// Reading is what a node has last read of the store, in one transaction or from a watch that it may trust.
type Reading struct {
	Store string // token
	Job   *Job
	Round *Round // that of Job.Round, as far as it is known
}

// Step is what a node does next.
type Step struct {
	Do    Action
	Round int
	Rank  int
	End   *End   // ActLeave: how the node ends
	Why   string // a sentence
	// Expedite is set on ActHalt where the others may continue without this node: whatever time its workers were given
	// before, they have the restart grace and no more.
	Expedite bool
}

// React is the node's half of the protocol: what it does about what it has read. It is pure; at is the same clock as
// the guard's. A round's workers are never started twice: what was acknowledged stays so, however late an older record
// arrives.
func React(s Self, r Reading, at time.Duration) Step {
	if s.State == NodeRunning {
		return reactRunning(s, r, at)
	}
	return reactIdle(s, r, at)
}

// reactRunning looks for a reason to stop the workers.
func reactRunning(s Self, r Reading, at time.Duration) Step {
	halt := func(format string, args ...any) Step {
		return Step{Do: ActHalt, Round: s.Round, Why: fmt.Sprintf(format, args...)}
	}
	hurry := func(format string, args ...any) Step {
		step := halt(format, args...)
		step.Expedite = true
		return step
	}
	switch {
	case s.Guard.Expired(at):
		return hurry("the store has not been reached for %v: others may count this node as gone soon",
			(at - s.Guard.Sent).Round(100*time.Millisecond))
	case s.Taken:
		return hurry("another incarnation of %s has taken its place", s.Name)
	case r.Store != s.Store:
		return hurry("the store is another one than before")
	case r.Job == nil:
		return hurry("the job's record has gone")
	case !sameRun(s, r.Job):
		return hurry("another run of this job has begun")
	case r.Job.Round > s.Round:
		return hurry("round %d has begun", r.Job.Round)
	case s.Leaving && !s.Asks:
		return halt("this node is leaving")
	case r.Job.Round < s.Round: // an older record that has come late: what it tells is over
		return Step{Do: ActGo, Round: s.Round}
	case r.Job.Phase != Running:
		return halt("%s", whyStopped(r.Job))
	}
	return Step{Do: ActGo, Round: s.Round}
}

func whyStopped(j *Job) string {
	switch {
	case j.End != nil:
		return fmt.Sprintf("the job has ended: %s", j.End.Reason)
	case j.Stop != nil:
		why := cmp.Or(j.Stop.Message, j.Stop.Kind)
		if node := j.Stop.Node; !strings.Contains(why, node) {
			why = "on " + node + ": " + why
		}
		return fmt.Sprintf("round %d stops: %s", j.Stop.Round, why)
	}
	return "the job is " + string(j.Phase)
}

// reactIdle says what a node does whose workers do not run.
func reactIdle(s Self, r Reading, at time.Duration) Step {
	wait := func(format string, args ...any) Step {
		return Step{Do: ActWait, Why: fmt.Sprintf(format, args...)}
	}
	j := r.Job
	switch {
	case s.Taken:
		return leave(End{
			Verdict: exitcodes.Retry, Reason: ReasonReplaced, Code: exitcodes.CodeNodeUnhealthy,
			Message: "another incarnation of " + s.Name + " has taken its place",
		})
	case s.Leaving:
		return leave(End{
			Verdict: exitcodes.Preempted, Reason: exitcodes.ReasonPreempted, Code: exitcodes.CodeSignalBase + 15,
			Message: s.Name + " was asked to stop",
		})
	case r.Store != s.Store:
		return Step{Do: ActRejoin, Why: "the store is another one than before"}
	case j == nil:
		return wait("there is no record of the job yet")
	case !sameRun(s, j):
		return wait("run %s of this job is %s", j.RunUID, j.Phase)
	case j.Phase.finished():
		return reactFinished(s, j)
	case j.Phase == Suspended:
		if j.Suspend && s.Joined < j.SinceSeq {
			return leave(End{
				Verdict: exitcodes.Suspended, Reason: exitcodes.ReasonSuspended, Code: exitcodes.CodeSignalBase + 15,
				Message: "the job is suspended", Cause: j.Stop,
			})
		}
		return wait("the job is suspended")
	}
	if fields := j.Spec.Diff(s.Spec); len(fields) > 0 {
		return leave(End{
			Verdict: exitcodes.Fatal, Reason: exitcodes.ReasonSpecMismatch, Code: exitcodes.CodeSpecMismatch,
			Message: "this node's spec differs from the running job's: " + strings.Join(fields, "; "),
		})
	}
	return reactLive(s, r, at)
}

// reactLive says what an idle node does while rounds come and go.
func reactLive(s Self, r Reading, at time.Duration) Step {
	j := r.Job
	rank := -1
	if r.Round != nil && r.Round.Number == j.Round && r.Round.RunUID == j.RunUID {
		rank = r.Round.place(s, j.Spec)
	}
	switch {
	case rank < 0 && j.Phase == Running:
		why := fmt.Sprintf("round %d runs without this node", j.Round)
		if r.Round != nil && r.Round.Number == j.Round && j.Spec.NextSize(len(r.Round.Members)) > 0 {
			why += fmt.Sprintf(", with %d; the next size is %d (%s)", len(r.Round.Members),
				j.Spec.NextSize(len(r.Round.Members)), j.Spec.NodesText())
		}
		return Step{Do: ActWait, Why: why}
	case rank < 0:
		return Step{Do: ActWait, Why: WhyUnformed}
	case s.Round > j.Round, s.Round == j.Round && !(s.Again && j.Phase == Running):
		return Step{Do: ActWait, Why: fmt.Sprintf("%s with round %d; waiting for the others", s.State, s.Round)}
	case j.Phase != Running:
		return Step{Do: ActAcknowledge, Round: j.Round, Rank: rank, Why: "stopped before this node had started"}
	case s.Guard.Expired(at):
		return Step{Do: ActWait, Why: "the store has not been reached for too long to start anything"}
	}
	return Step{Do: ActStart, Round: j.Round, Rank: rank}
}

// reactFinished ends with the verdict of the run that the node was part of, or had come back to. A node that comes to
// the end of another run, or to one worth a retry, says that it is here to train.
func reactFinished(s Self, j *Job) Step {
	came := s.Joined >= j.SinceSeq
	switch {
	case !came || s.RunUID != "" && j.End.Verdict != exitcodes.Retry:
		return leave(*j.End)
	case s.ReopenSeq < j.SinceSeq:
		return Step{Do: ActReturn, Why: "an earlier run of this job ended with verdict " + string(j.End.Verdict)}
	}
	return Step{Do: ActWait, Why: "waiting for the job to be opened again"}
}

func leave(e End) Step { return Step{Do: ActLeave, End: &e, Why: e.Message} }

func sameRun(s Self, j *Job) bool { return s.RunUID == "" || s.RunUID == j.RunUID }

// CanEndAlone reports whether an end with this reason concerns one node only; the job goes on.
func CanEndAlone(reason string) bool {
	return slices.Contains([]string{
		exitcodes.ReasonBadConfig, exitcodes.ReasonSpecMismatch, exitcodes.ReasonExitHookFailed,
		exitcodes.ReasonStoreLost, exitcodes.ReasonNodeUnhealthy, exitcodes.ReasonPreempted, ReasonReplaced,
	}, reason)
}
