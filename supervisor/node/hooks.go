package node

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// hookTimedOut is the code of a hook that had no time left: timeout(1)'s.
const hookTimedOut = 124

// hooks are the exit hooks, which run one after the other once the node's end is known.
type hooks struct {
	names   []string // of those that are due
	results []hookResult

	// Of the one that runs:
	startedAt time.Time
	clock     clock
	late      bool // its time was over before it had ended
	cutShort  bool // and that was before its timeout
	ended     bool // the hook itself, not what it has left behind
	asked     bool // what it has left behind got SIGTERM
	status    exitcodes.Status
	over      bool // nothing of it is left; its output is awaited
}

// hookResult is what became of one hook. A code of 0 is a success; what is the end of a sentence about it.
type hookResult struct {
	name   string
	code   int
	what   string
	output []byte // the end of it
}

// beginHooks begins with the first hook; false when there is none.
func (n *Node) beginHooks() bool {
	n.hooks = hooks{names: n.policy.OnExit}
	if n.endsJob {
		n.hooks.names = append(n.hooks.names[:len(n.hooks.names):len(n.hooks.names)], n.policy.OnJobEnd...)
	}
	if len(n.hooks.names) == 0 {
		return false
	}
	n.transition(Hooking)
	n.do(Part{}) // the others must not wait for our hooks, or count on us
	n.nextHook()
	return true
}

// nextHook starts the next hook, or ends the phase.
func (n *Node) nextHook() {
	for len(n.hooks.results) < len(n.hooks.names) {
		if until := n.doneBy(); !until.IsZero() && !n.now.Before(until) {
			n.hookDone(hookTimedOut, "was not started: the grace is over", nil)
			continue
		}
		h := &n.hooks
		h.startedAt, h.clock, h.status = n.now, clock{}, exitcodes.Status{}
		h.late, h.cutShort, h.ended, h.asked, h.over = false, false, false, false, false
		n.alone = false
		n.limitHook()
		n.do(StartHook{Number: len(h.results), End: *n.final})
		return
	}
	m := withHooks(*n.final, n.hooks.results, n.policy.HookIgnore)
	n.endWith(m)
	n.do(Record{m})
	n.flush()
}

// hookDone notes what became of a hook.
func (n *Node) hookDone(code int, what string, output []byte) {
	name := n.hooks.names[len(n.hooks.results)]
	if code != 0 {
		n.log(slog.LevelError, "the exit hook "+name+" "+what, "code", code)
	}
	n.hooks.results = append(n.hooks.results, hookResult{name, code, what, output})
}

func (n *Node) hookNotStarted(why Failure) {
	code := why.Code
	if code == 0 {
		code = exitcodes.CodeNotExecutable
	}
	n.hookDone(code, "could not be started: "+why.Why, nil)
	n.nextHook()
}

// withHooks adds to the end of a run what became of its hooks. They never make it better: training that has failed
// keeps its verdict and its code.
func withHooks(end exitcodes.Message, results []hookResult, ignore bool) exitcodes.Message {
	var failed []hookResult
	for _, r := range results {
		end.Hooks = append(end.Hooks, exitcodes.Hook{Name: r.name, ExitCode: r.code})
		if r.code != 0 {
			failed = append(failed, r)
		}
	}
	if len(failed) == 0 || ignore || end.Verdict != exitcodes.Success {
		return end
	}
	end.Verdict, end.Reason, end.ExitCode = exitcodes.Fatal, exitcodes.ReasonExitHookFailed, exitcodes.CodeExitHookFailed
	end.Message = "training succeeded, but the exit hook " + failed[0].name + " " + failed[0].what
	if n := len(failed) - 1; n > 0 {
		end.Message += fmt.Sprintf(", and %d more failed", n)
	}
	end.LogTail = string(failed[0].output)
	return end
}

// hookTimes says when a hook that does not end gets SIGTERM, and when SIGKILL: both before until, unless that is zero, since
// the container is killed soon after.
func hookTimes(started time.Time, timeout, grace time.Duration, until time.Time) (term, kill time.Time) {
	term = started.Add(timeout)
	kill = term.Add(grace)
	if until.IsZero() || !until.Before(kill) {
		return term, kill
	}
	last := until.Add(-min(hookAnswer, until.Sub(started)/2))
	if last.Before(term) {
		term = last
	}
	return term, until
}

// limitHook sets the hook's times again, those of its leftovers once it has ended.
func (n *Node) limitHook() {
	h, until := &n.hooks, n.doneBy()
	switch {
	case h.clock.killed(): // nothing more can be done
	case h.ended:
		if !until.IsZero() {
			h.clock.limit(until, until)
		}
	default:
		h.clock.termAt, h.clock.killAt = hookTimes(h.startedAt, n.policy.HookTimeout, n.policy.RestartGrace, until)
		h.cutShort = h.clock.termAt.Before(h.startedAt.Add(n.policy.HookTimeout))
		if h.late {
			h.clock.termAt = time.Time{}
		}
	}
}

func (h *hooks) next() time.Time {
	if h.over {
		return time.Time{}
	}
	return h.clock.next()
}

// signaledInHook starts the clock of the grace at the first signal that asks to stop: the hook may still finish in it. It
// gets later such signals. Other signals were meant for the workers.
func (n *Node) signaledInHook(sig, to Signal, asks bool) {
	if !asks && !sig.ambiguous() {
		return
	}
	r := n.requested(sig)
	if n.request == nil {
		n.request = r
		n.log(slog.LevelInfo, r.kind+": the exit hooks have to end in time", "why", r.what, "until", r.until.Local().Format(time.TimeOnly))
	} else {
		n.request.shorten(r)
		n.do(Send{Worker: Hook, Signal: to, Group: true})
	}
	n.limitHook()
}

// hookExited goes on once the hook itself has ended: what it has left behind is removed as after a worker.
func (n *Node) hookExited(ev Exited) {
	h := &n.hooks
	if n.state != Hooking || h.ended || h.over {
		return
	}
	h.ended, h.status = true, ev.Status
	n.alone = n.alone || ev.Alone
	switch {
	case n.alone || n.policy.Leftovers == LeftoversLeave:
		n.hookOver()
	default:
		h.asked = true
		n.do(Sweep{SIGTERM, "the exit hook left processes behind: SIGTERM"})
	}
}

func (n *Node) hookOverIfAlone() {
	if n.state == Hooking && n.hooks.ended && n.alone {
		n.hookOver()
	}
}

// hookSwept handles what a look at the hook's leftovers has found, beside what was stuck before.
func (n *Node) hookSwept(found []Process) {
	h := &n.hooks
	left := n.stuck.without(found)
	switch {
	case !h.ended || h.over:
	case len(left) == 0 || h.asked && n.policy.Leftovers == LeftoversTerm:
		n.hookOver()
	case h.asked:
		h.asked, h.clock = false, clock{}
		h.clock.limit(n.now.Add(leftoverGrace), n.now.Add(leftoverGrace))
		n.limitHook()
	case h.clock.stuck(left, n.now):
		n.log(slog.LevelError, "processes survive SIGKILL; they are stuck in the kernel", "processes", Names(left))
		n.stuck.add(Names(left), pidsOf(left)...) // the next hook does not wait for them again
		n.hookOver()
	}
}

// hookDue ends a hook that has no time left, and then what it has left behind.
func (n *Node) hookDue() {
	h := &n.hooks
	if h.over {
		return
	}
	again := lookAgain
	if h.ended {
		again = sweepAgain
	}
	switch a := h.clock.ring(n.now, false, again); {
	case a == term:
		n.endHook()
	case a == kill && h.ended:
		n.do(Sweep{SIGKILL, "what the exit hook left behind did not stop: SIGKILL"})
	case a == look && h.ended:
		n.do(Sweep{Signal: SIGKILL})
	case a == kill:
		if !h.late {
			n.endHook()
		}
		n.do(Send{Worker: Hook, Signal: SIGKILL, Group: true})
	case a == look:
		n.do(Look{Hook})
	}
}

// endHook asks a hook whose time is over to end.
func (n *Node) endHook() {
	n.hooks.late = true
	n.do(Send{Worker: Hook, Signal: SIGTERM, Group: true})
	n.do(Send{Worker: Hook, Signal: SIGCONT, Group: true}) // a stopped process cannot answer
}

func (n *Node) hookLooked(found []Process) {
	h := &n.hooks
	if n.state != Hooking || h.ended || h.over || !h.clock.stuck(found, n.now) {
		return
	}
	n.log(slog.LevelError, "an exit hook survives SIGKILL; it is stuck in the kernel", "hook", h.names[len(h.results)])
	n.hookOver()
}

func (n *Node) hookOver() {
	if n.hooks.over {
		return
	}
	n.hooks.over = true
	n.do(FlushHook{})
}

// hookFlushed says what became of the hook, and continues with the next.
func (n *Node) hookFlushed(output []byte) {
	h := &n.hooks
	if n.state != Hooking || !h.over {
		return
	}
	code, what := h.status.Number(), ""
	switch {
	case h.late && h.cutShort:
		code, what = hookTimedOut, "did not end before the grace was over"
	case h.late:
		code, what = hookTimedOut, fmt.Sprintf("did not end within %v", n.policy.HookTimeout)
	case h.status.Signal != 0:
		what = "was killed by " + exitcodes.SignalName(h.status.Signal)
	default:
		what = fmt.Sprintf("ended with exit code %d", h.status.Code)
	}
	n.hookDone(code, what, output)
	n.nextHook()
}
