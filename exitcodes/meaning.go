package exitcodes

import "fmt"

// Meaning is what an exit code of a gangrun container says.
type Meaning struct {
	Code    int     `json:"code"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	Text    string  `json:"text"`
}

// gangruns are the codes that have a meaning of their own.
var gangruns = map[int]Meaning{
	0:                      {Reason: ReasonSucceeded, Text: "training succeeded"},
	CodeBadConfig:          {Reason: ReasonBadConfig, Text: "a flag, a variable or a file is wrong; nothing was started"},
	CodeCheckpointUnusable: {Reason: ReasonCheckpointUnusable, Text: "there was progress, and no complete checkpoint common to all nodes is left to resume from"},
	CodeInternalError:      {Reason: ReasonInternalError, Text: "a bug in gangrun; the stack is in the termination message"},
	CodeSpecMismatch:       {Reason: ReasonSpecMismatch, Text: "this node's job spec differs from the running job's; the job goes on waiting"},
	CodeNoProgress:         {Reason: ReasonNoProgress, Text: "the same failure at the same step again and again, or the restart budget is spent where that fails the job"},
	CodeFatalByRule:        {Reason: ReasonFatalByRule, Text: "the evidence says fatal although the worker's own code (0, or 128 and above) does not"},
	CodeExitHookFailed:     {Reason: ReasonExitHookFailed, Text: "training succeeded, an exit hook did not"},
	CodeNotExecutable:      {Reason: ReasonNotExecutable, Text: "the command is there but cannot be executed"},
	CodeNotFound:           {Reason: ReasonNotFound, Text: "the command, or the interpreter that its script names, does not exist"},
	CodeRetryableByRule:    {Reason: ReasonRetryableByRule, Text: "the evidence says retry although the worker's own code (below 128) does not"},
	CodeRendezvousTimeout:  {Reason: ReasonRendezvousTimeout, Text: "nodes are missing; the message names them"},
	CodeHang:               {Reason: ReasonHang, Text: "no progress for too long"},
	CodeStoreLost:          {Reason: ReasonStoreLost, Text: "the store could not be reached, or was full, for too long"},
	CodeNodeUnhealthy:      {Reason: ReasonNodeUnhealthy, Text: "the machine is at fault: run elsewhere"},
}

// Codes lists the codes that have a meaning of their own, in order.
func Codes() []Meaning {
	var list []Meaning
	for code := range 256 {
		if _, found := gangruns[code]; found || code == 130 || code == 137 || code == 143 {
			list = append(list, MeaningOf(code))
		}
	}
	return list
}

// MeaningOf says what a code from 0 to 255 means.
func MeaningOf(code int) Meaning {
	m, found := gangruns[code]
	m.Code, m.Verdict = code, CodeVerdict(code)
	if found {
		return m
	}
	m.Reason = ReasonError
	n := code - CodeSignalBase
	switch {
	case code == 137:
		m.Reason = SignalReason(n)
		m.Text = "death by SIGKILL: killed for memory when the reason is OOMKilled, else from outside the worker (eviction, the kubelet after its grace period, a person)"
	case code == 143 || code == 130:
		m.Verdict, m.Reason = Preempted, ReasonPreempted
		m.Text = fmt.Sprintf("stopped by %s from outside (verdict preempted or suspended); or, with verdict retry, the worker alone was killed by it", SignalName(n))
	case n > 0 && n <= sigmax:
		m.Reason = SignalReason(n)
		m.Text = fmt.Sprintf("death by %s, or the worker's own exit code", SignalName(n))
	case code >= CodeSignalBase:
		m.Text = "the worker's own exit code; 128 and above means: worth a retry"
		if n := 256 - code; n < 32 { // sys.exit(p.returncode) of one who waits for p
			m.Text += fmt.Sprintf("; a launcher in Python exits with it when its child was killed by %s (-%d)", SignalName(n), n)
		}
	default:
		m.Text = "the worker's own exit code; 1 to 127 means it would fail the same way again"
	}
	return m
}

// Reaction is what somebody who reads exit codes does with one.
type Reaction struct {
	By   string `json:"by"`
	Does string `json:"does"`
}

// Reactions says what the operators and schedulers do when a container or batch job exits with code.
func Reactions(code int) []Reaction {
	if code == 0 {
		return []Reaction{
			{"Training Operator v1", "counts the replica as succeeded; with elasticPolicy one such worker ends the whole PyTorchJob as Succeeded"},
			{"Job podFailurePolicy", "is not asked: the pod succeeded"},
			{"JobSet", "counts the pod's Job as completed once all its pods are"},
			{"SLURM", "ends the job as COMPLETED"},
		}
	}
	v1 := "restartPolicy ExitCode: fails the job for good"
	if code >= CodeSignalBase {
		v1 = "restartPolicy ExitCode: deletes and recreates this pod, without any limit of its own"
		switch code {
		case 130, 137, 138, 143:
		default:
			v1 += " (1.8 and later; its older releases and its published table retry only 130, 137, 138 and 143)"
		}
	}
	slurm := "ends the job as FAILED; requeues it only where slurm.conf lists the code in RequeueExit"
	if code == 253 {
		slurm += "; srun itself uses 253 for out of memory"
	}
	return []Reaction{
		{"Training Operator v1", v1},
		{"Job podFailurePolicy", "does what the first matching onExitCodes rule says (FailJob, Ignore, Count); without one it counts against backoffLimit"},
		{"JobSet", fmt.Sprintf("sees it only through a podFailurePolicy FailJob rule, as \"failed with exit code %d\", which onJobFailureMessagePatterns can match; otherwise any failed Job restarts the set up to maxRestarts", code)},
		{"SLURM", slurm},
	}
}
