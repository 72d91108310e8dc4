package command

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// reason is what a reason of the termination message means to a person.
type reason struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Do   string `json:"do,omitempty"` // what a person can do
	// Rules are those that give it.
	Rules []reasonRule `json:"rules,omitempty"`
}

type reasonRule struct {
	Name    string            `json:"name"`
	Verdict exitcodes.Verdict `json:"verdict,omitempty"`
}

// advice is the text of a reason and what to do, by its name.
type advice struct{ text, do string }

const (
	readOutput = "read the worker's last output above"
	seeOutput  = "run it again with 2>&1 | cat at its end, so that gangrun sees the output and can say why"
)

// reasonAdvice has gangrun's own reasons.
var reasonAdvice = map[string]advice{
	exitcodes.ReasonSucceeded: {"training succeeded", ""},
	exitcodes.ReasonError: {"a worker failed, and its exit code is all that is known of why",
		readOutput + "; if the failure is worth a retry, write a rule (docs/rules.md) or use --unknown retry-after-progress"},
	exitcodes.ReasonBadConfig: {"a flag, a variable or a file is wrong; nothing was started", "correct what the message names"},
	exitcodes.ReasonCheckpointUnusable: {"there was progress, and no complete checkpoint common to all nodes is left to resume from",
		"gangrun checkpoint ls DIR shows each and why it cannot be used; to start over from step 0 all the same: --checkpoint-require never"},
	exitcodes.ReasonInternalError: {"a bug in gangrun", "please report it with the termination message, which has the stack"},
	exitcodes.ReasonSpecMismatch: {"this node was started with other settings than the running job",
		"start all nodes with the same flags; the message names the difference"},
	exitcodes.ReasonNoProgress: {"the same failure at the same step again and again, or the restart budget is spent under --on-exhausted fatal",
		"fix what the message names; --max-same-failure says how often the same failure is tried"},
	exitcodes.ReasonRestartBudgetExhausted: {"no restarts are left: without progress (--max-restarts), within a time (--restart-window) or after preemptions (--max-preemptions)",
		"fix what fails, or raise the limit that is named; a reported step or a new checkpoint resets the count of --max-restarts"},
	exitcodes.ReasonFatalByRule: {"the evidence says fatal although the worker's own code (0, or 128 and above) does not",
		"the message has the line that decided; gangrun explain --log FILE shows the rule"},
	exitcodes.ReasonExitHookFailed: {"training succeeded, and a command of --on-exit or --on-job-end did not",
		"fix the hook; with --hook-failure ignore it is only reported"},
	exitcodes.ReasonNotExecutable: {"the command is there but cannot be executed", "chmod +x it, or put its interpreter before it (python3 train.py); check its architecture and its first line (#!)"},
	exitcodes.ReasonNotFound:      {"the command, or the interpreter that its script names, does not exist", "check its spelling and PATH inside the image; a script needs its interpreter before it: python3 train.py"},
	exitcodes.ReasonOOMKilled: {"the kernel killed a process because the container was at its memory limit",
		"raise the container's memory limit, or use less: fewer data loader workers, a smaller prefetch factor, files in /dev/shm count too"},
	exitcodes.ReasonSharedMemoryFull: {"/dev/shm is full, which data loaders and NCCL use",
		"mount an emptyDir with medium Memory at /dev/shm (Docker: --shm-size), or use fewer data loader workers"},
	exitcodes.ReasonPreempted: {"gangrun was asked to stop from outside: eviction, a scheduler, a person",
		"run it again; with --checkpoint-dir it resumes from its last checkpoint"},
	exitcodes.ReasonSuspended: {"the job was suspended by command", "start its nodes again and run gangrun resume JOB (with --store, in either order)"},
	exitcodes.ReasonRetryableByRule: {"the evidence says retry although the worker's own code (below 128) does not",
		"nothing; the message has the line that decided"},
	exitcodes.ReasonRendezvousTimeout: {"nodes are missing", "the message names them: are their pods scheduled, do they reach the store? --join-timeout waits longer"},
	exitcodes.ReasonHang:              {"no progress for too long", "read the stacks in the output; --hang-timeout says how long is too long"},
	exitcodes.ReasonStoreLost:         {"the store could not be reached, or was full, for too long", "check the etcd, or the node that hosts the store; --store-timeout waits longer"},
	exitcodes.ReasonNodeUnhealthy:     {"the machine is at fault", "run elsewhere: cordon the node, and look there at what the message names; GPU errors (Xid) are in the kernel's log"},
	exitcodes.ReasonKilled: {"gangrun itself was killed before it could say more: by the kernel for memory, with the whole container, or after the grace period",
		"check the pod's memory limit, and that its terminationGracePeriodSeconds is above --grace"},
	exitcodes.ReasonPeerLost: {"a rank lost the connection to another one, which has usually failed itself", "look for the failure of the other rank or node"},
	exitcodes.ReasonPeerUnreachable: {"a rank could not reach another one, or a server",
		"check the network: between the nodes (firewall, network policy, NCCL_SOCKET_IFNAME), or to the server that the message names"},
	rendezvous.ReasonStopped:  {"the job was ended by gangrun stop", "start its nodes again if that was a mistake"},
	rendezvous.ReasonReplaced: {"another gangrun of the same name has taken this node's place", "nothing, if it is this node's replacement; else give each node a name of its own (--node)"},
	rendezvous.ReasonNodeLost: {"a node has gone without a word: its machine died, or its gangrun was killed", "look at that node's pod and machine"},
}

// adviceOn finds the advice for a reason.
func adviceOn(name string) (advice, bool) {
	a, found := reasonAdvice[name]
	if !found {
		a, found = ruleAdvice[name]
	}
	if n, died := diedBy(name); died {
		return adviceOnSignal(n), true
	}
	return a, found
}

// reasonOf finds a reason by its name.
func reasonOf(name string) (reason, bool) {
	if i := slices.IndexFunc(reasonNames(), func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
		name = reasonNames()[i]
	}
	r := reason{Name: name}
	for _, rule := range exitcodes.BuiltinRules().All() {
		if rule.Reason == name {
			r.Rules = append(r.Rules, reasonRule{rule.Name, rule.Verdict})
		}
	}
	a, found := adviceOn(name)
	r.Text, r.Do = a.text, a.do
	if n, died := diedBy(name); died {
		r.Name = exitcodes.SignalReason(n)
	}
	if r.Text == "" && len(r.Rules) > 0 {
		r.Text = "a rule that reads the worker's output gave this reason; the message has the line"
	}
	return r, found || len(r.Rules) > 0
}

func reasonNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(reasonAdvice)), maps.Keys(ruleAdvice))
	for _, rule := range exitcodes.BuiltinRules().All() {
		if rule.Reason != "" && !slices.Contains(names, rule.Reason) {
			names = append(names, rule.Reason)
		}
	}
	slices.Sort(names)
	return names
}

// noVerdict is said of a rule that only names the reason.
const noVerdict = "no verdict of its own"

// todo shows what a person can do.
func (e explainer) todo(do string) {
	if do != "" {
		fmt.Fprintf(e.out, "what to do: %s\n", do)
	}
}

// reason shows a reason.
func (e explainer) reason(r reason) error {
	if e.json {
		return e.encode(r)
	}
	fmt.Fprintf(e.out, "%s: %s\n", r.Name, r.Text)
	e.todo(r.Do)
	for _, m := range exitcodes.Codes() {
		if m.Reason == r.Name && m.Code != 0 {
			fmt.Fprintf(e.out, "exit code %d: %s\n", m.Code, m.Text)
		}
	}
	for _, rule := range r.Rules {
		fmt.Fprintf(e.out, "rule %s: %s\n", rule.Name, cmp.Or(string(rule.Verdict), noVerdict))
	}
	return nil
}
