package exitcodes

import (
	"fmt"
	"strings"
)

// The codes that gangrun itself exits with. A worker's own code is kept whenever it already says the verdict
// (1 to 127 fatal, 128 and above retry).
const (
	CodeBadConfig          = 64  // flags, variables, file, spec
	CodeCheckpointUnusable = 65  // there was progress, and nothing is left to resume from
	CodeInternalError      = 70  // a bug in gangrun
	CodeSpecMismatch       = 78  // this node's spec differs from the running job's
	CodeNoProgress         = 90  // the same failure at the same step again, or the budget is spent where that fails the job
	CodeFatalByRule        = 91  // fatal, but the worker's own code (0, or 128 and above) does not say so
	CodeExitHookFailed     = 92  // training succeeded, an exit hook did not
	CodeNotExecutable      = 126 // the command is there but cannot be executed
	CodeNotFound           = 127 // the command does not exist
	CodeSignalBase         = 128 // plus n: death by signal n
	CodeRetryableByRule    = 210 // worth a retry, but the worker's own code (below 128) does not say so
	CodeRendezvousTimeout  = 211 // nodes are missing
	CodeHang               = 212 // no progress
	CodeStoreLost          = 213 // the store could not be reached, or was full, for too long
	CodeNodeUnhealthy      = 214 // run elsewhere
)

// The reasons of the termination message.
const (
	ReasonSucceeded              = "Succeeded"
	ReasonError                  = "Error"
	ReasonBadConfig              = "BadConfig"
	ReasonCheckpointUnusable     = "CheckpointUnusable"
	ReasonInternalError          = "InternalError"
	ReasonSpecMismatch           = "SpecMismatch"
	ReasonNoProgress             = "NoProgress"
	ReasonRestartBudgetExhausted = "RestartBudgetExhausted"
	ReasonFatalByRule            = "FatalByRule"
	ReasonExitHookFailed         = "ExitHookFailed"
	ReasonNotExecutable          = "NotExecutable"
	ReasonNotFound               = "NotFound"
	ReasonOOMKilled              = "OOMKilled"
	ReasonSharedMemoryFull       = "SharedMemoryFull"
	ReasonPreempted              = "Preempted"
	ReasonSuspended              = "Suspended"
	ReasonRetryableByRule        = "RetryableByRule"
	ReasonRendezvousTimeout      = "RendezvousTimeout"
	ReasonHang                   = "Hang"
	ReasonStoreLost              = "StoreLost"
	ReasonNodeUnhealthy          = "NodeUnhealthy"
	ReasonKilled                 = "Killed" // gangrun itself was killed before it could say more
	ReasonPeerLost               = "PeerLost"
	ReasonPeerUnreachable        = "PeerUnreachable"
	reasonKilledBy               = "KilledBy"
)

// SignalReason is the reason for a death by signal n: KilledBySIGKILL.
func SignalReason(n int) string {
	if name := SignalName(n); strings.HasPrefix(name, "SIG") {
		return reasonKilledBy + name
	}
	return fmt.Sprintf("%sSignal%d", reasonKilledBy, n)
}

// CodeVerdict is the base rule: what an exit code says by itself. 0 is success, 1 to 127 fatal, the rest retry.
func CodeVerdict(code int) Verdict {
	switch {
	case code == 0:
		return Success
	case code > 0 && code < CodeSignalBase:
		return Fatal
	}
	return Retry
}

// CodeFor is the exit code that tells v to whoever reads nothing but the code. The worker's own code is kept when it
// says the same.
func CodeFor(v Verdict, own int) int {
	switch {
	case own >= 0 && own <= 255 && CodeVerdict(own) == v:
		return own
	case v == Success:
		return 0
	case v == Fatal:
		return CodeFatalByRule
	}
	return CodeRetryableByRule
}
