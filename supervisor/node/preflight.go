package node

import (
	"log/slog"
	"strings"

	"github.com/gangrun/gangrun/exitcodes"
)

// preflight is the look at the machine before a round.
type preflight struct {
	under  bool // it is being checked: no worker starts meanwhile
	passed bool // it was found fit once, and the job knows of this node
	// elsewhere is why the last round was stopped for a failure elsewhere.
	elsewhere string
}

// examine has the machine checked. Meanwhile everything happens as usual, except the start of a round.
func (n *Node) examine(why string) {
	n.preflight.under = true
	n.log(slog.LevelDebug, "preflight: looking at this machine", "why", why)
	n.do(Probe{})
}

// examineAgain has the machine checked between rounds if there is a reason to: mostly there is a pause then before the next
// round, in which it costs no time. A first failure is no reason, so that its restart stays fast.
func (n *Node) examineAgain() {
	if why := n.suspicion(); n.policy.Preflight && !n.preflight.under && n.restarts() && why != "" {
		n.examine(why)
	}
	n.preflight.elsewhere = ""
}

// suspicion is why this machine may be at fault; empty when nothing says so.
func (n *Node) suspicion() string {
	reason := n.preflight.elsewhere
	if v := n.verdict.outcome.Verdict; v == exitcodes.Retry || v == exitcodes.Fatal {
		reason = n.verdict.outcome.Reason
	}
	switch {
	case n.dumping || reason == exitcodes.ReasonHang:
		return "the last round hung"
	case reason == exitcodes.ReasonNodeUnhealthy:
		return "a machine was at fault in the last round"
	case reason != "" && n.budget.Used > 0 && !n.progressed():
		return "it is not the first failure"
	}
	return ""
}

// probed continues from what was found: a fit machine joins the job, or starts the round that waits for it; one that is
// not leaves, and the others do not wait for it.
func (n *Node) probed(p Probed) {
	n.preflight.under = false
	if n.final != nil || n.request != nil || n.state != Waiting && n.state != Starting {
		return // it leaves already
	}
	for _, text := range p.Notes {
		n.log(slog.LevelWarn, "preflight: "+text, "follows", "this node continues")
	}
	switch {
	case len(p.Sick) > 0 && n.state == Starting:
		n.prepared(Prepared{Failure: &Failure{Why: p.unfit()}})
	case len(p.Sick) > 0:
		n.unfit(p.unfit())
	default:
		if !n.preflight.passed {
			n.preflight.passed = true
			if len(p.Notes) == 0 { // else those say that it continues
				n.log(slog.LevelInfo, "preflight: nothing is wrong with this machine")
			}
			n.do(Join{})
		}
		if n.state == Starting {
			n.do(Prepare{*n.begin})
		}
	}
}

// unfit says what is wrong with the machine.
func (p Probed) unfit() string {
	return "preflight: this machine is not fit to train: " + strings.Join(p.Sick, "; ")
}

// unfit ends the run on this node while no worker of it runs.
func (n *Node) unfit(why string) {
	f := exitcodes.Judge(exitcodes.Outcome{
		Node: n.policy.Node, Rank: -1, LocalRank: -1, At: n.now, NotStarted: why,
	}, exitcodes.NoRules())
	n.log(slog.LevelError, why, "follows", "this node leaves the job, and the others do not wait for it")
	m := n.failure(f)
	n.endWith(m)
	n.do(Record{m})
	n.do(Leave{Sick: why})
}
