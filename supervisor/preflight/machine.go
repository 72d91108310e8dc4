package preflight

import (
	"fmt"
	"strings"
	"time"
)

// The names of the probes for which nothing has to be started.
const (
	ProbeSharedMemory = "/dev/shm"
	ProbeStore        = "store"
	ProbeClock        = "clock"
	ProbeLimits       = "limits"
	ProbeCommand      = "command"
)

// JudgeSharedMemory says what the room in /dev/shm means. there is false when there is no such file system.
func JudgeSharedMemory(total, free uint64, there bool) Result {
	const do = "remove what an earlier container has left there, or mount a larger one (an emptyDir with medium Memory)"
	switch {
	case !there:
		return note(ProbeSharedMemory, "", "cannot be checked")
	case total > 0 && free < total/100+1:
		return sick(ProbeSharedMemory, do, "full (%s): data loaders and NCCL die of SIGBUS", size(total))
	}
	return ok(ProbeSharedMemory, "%s free of %s", size(free), size(total))
}

// Reached is the result of a try to reach the store at one address.
type Reached struct {
	Address string
	Took    time.Duration
	Unknown string // why the name is not known; empty when it is
	Refused bool   // the machine is there, and nobody listens
	Error   string // why it could not be reached otherwise
}

// JudgeStore says what the tries mean. Nothing here makes a node sick: the host of the store may start later than this
// node, and a name often resolves only once its pod runs. The node waits for the store as it does without this.
func JudgeStore(tries []Reached) Result {
	const waits = "the node waits for it"
	if len(tries) == 0 {
		return ok(ProbeStore, "none to reach: one node")
	}
	var bad []string
	do := waits
	for _, r := range tries {
		switch {
		case r.Unknown != "":
			bad = append(bad, fmt.Sprintf("the name of %s is not known: %s", plain(r.Address), plain(r.Unknown)))
			do = waits + "; if it stays so, check the name and the cluster's DNS"
		case r.Refused:
			bad = append(bad, plain(r.Address)+" is there, and nobody listens yet")
		case r.Error != "":
			bad = append(bad, fmt.Sprintf("%s does not answer: %s", plain(r.Address), plain(r.Error)))
			do = waits + "; if it stays so, check firewall and network policy"
		}
	}
	if len(bad) == 0 {
		return ok(ProbeStore, "%s answers within %v", plain(tries[0].Address), tries[0].Took.Round(10*time.Microsecond))
	}
	return note(ProbeStore, do, "%s", strings.Join(bad, ", "))
}

// JudgeClock says what the machine's time means. It can only be compared with the time at which this was written: gangrun
// itself does not depend on other machines' clocks.
func JudgeClock(now time.Time) Result {
	if now.Year() < 2025 || now.Year() > 2100 {
		return note(ProbeClock, "set it: certificates are refused, and the order of files is wrong",
			"it says %s", now.UTC().Format(time.DateTime))
	}
	return ok(ProbeClock, "%s", now.UTC().Format(time.DateTime)+" UTC")
}

// Limits are resource limits of the process, as its children get them.
type Limits struct {
	Files     uint64 // open ones
	Locked    uint64 // bytes of memory
	Unlimited bool   // Locked has no limit
	RDMA      bool   // there are devices for which memory is locked
}

// JudgeLimits says what they mean. They were set on purpose, and so are no reason to leave.
func JudgeLimits(l Limits, known bool) Result {
	switch {
	case !known:
		return note(ProbeLimits, "", "cannot be checked")
	case l.Files < 4096:
		return note(ProbeLimits, "raise it: data loaders and NCCL take many (ulimit -n; Docker: --ulimit nofile=1048576)",
			"%d open files (nofile)", l.Files)
	case l.RDMA && !l.Unlimited && l.Locked < 1<<30:
		return note(ProbeLimits, "raise it: NCCL locks memory for InfiniBand (ulimit -l unlimited; Docker: --ulimit memlock=-1)",
			"%s of locked memory (memlock)", size(l.Locked))
	}
	return ok(ProbeLimits, "%d open files", l.Files)
}

// JudgeCommand says what a command of one's own has found. It alone says whether the machine is sick.
func JudgeCommand(name string, o Output) Result {
	const do = "look at what the command found"
	said := ""
	if line := lastLine(o.Text); line != "" {
		said = ": " + line
	}
	switch {
	case o.Absent:
		return note(ProbeCommand, "", "%s is not there any more: not asked", plain(name))
	case o.Err != nil:
		return note(ProbeCommand, "", "not asked: %v", o.Err)
	case o.Late > 0:
		return sick(ProbeCommand, do, "%s had not ended after %v%s", plain(name), o.Late, said)
	case o.Status.Code != 0 || o.Status.Signal != 0:
		return sick(ProbeCommand, do, "%s %s%s", plain(name), o.ended(), said)
	}
	return ok(ProbeCommand, "%s%s", plain(name), said)
}
