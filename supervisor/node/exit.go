package node

import (
	"log/slog"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// exited handles the end of a worker, or of the hook.
func (n *Node) exited(ev Exited) {
	if ev.Worker == Hook {
		n.hookExited(ev)
		return
	}
	if w := &n.workers[ev.Worker]; !w.ended {
		n.log(slog.LevelDebug, "worker ended", "pid", w.pid, "status", ev.Status.Number())
		n.ended(ev.Worker, ev.Status, ev.At)
	}
	n.alone = n.alone || ev.Alone && !n.started()
	n.clearedIfAlone()
}

// aloneNow goes on once nothing of any worker is left.
func (n *Node) aloneNow() {
	n.alone = n.alone || !n.started()
	n.clearedIfAlone()
	n.hookOverIfAlone()
}

// started reports whether a worker or a hook was started whose end is not known yet. Then the news that nothing is left is
// older, and says nothing about what was started since, nor about its leftovers.
func (n *Node) started() bool {
	if n.state == Hooking {
		return !n.hooks.ended
	}
	return slices.ContainsFunc(n.workers, func(w worker) bool { return w.pid != 0 && !w.ended })
}

// ended notes the end of a worker, and asks for the evidence about it.
func (n *Node) ended(i int, status exitcodes.Status, at time.Time) {
	w := &n.workers[i]
	w.ended, w.at, w.status = true, at, status
	if n.endedEarly(w) {
		w.stop, w.early = exitcodes.NotStopped, true
	}
	if sig := n.tookAsStop(w); sig != 0 {
		w.stop = exitcodes.StoppedOutside
		r := n.requested(sig)
		n.stopFromOutside(r, r.signal)
	}
	w.obeyed = status == exitcodes.Status{} && !w.signaled && (n.save == nil || !n.save.over)
	n.leftSaving(w)
	o, evidence := n.question(w)
	n.do(Gather{Worker: i, Outcome: o, Evidence: evidence})
}

// tookAsStop returns the signal from outside that the worker took as the end although it did not come as a plain stop
// signal: one that was passed on to it a moment ago, or one that went to the worker directly.
func (n *Node) tookAsStop(w *worker) Signal {
	if w.stop != exitcodes.NotStopped || w.status == (exitcodes.Status{}) || w.pid == 0 || w.accused != "" || w.lingered != "" {
		return 0
	}
	if w.hint != 0 && w.at.Before(w.hintBy) {
		return w.hint
	}
	sig := Signal(w.status.Signal)
	if n.isNotice(sig) {
		return sig // a scheduler may send it to every process
	}
	if w.Terminal && n.policy.Terminal.Handed && (sig == SIGINT || sig == SIGQUIT || sig == SIGHUP) {
		return sig
	}
	return 0
}

// question is what is known here about the end of a worker, and which evidence counts beside it.
func (n *Node) question(w *worker) (exitcodes.Outcome, Evidence) {
	o := exitcodes.Outcome{
		Node: n.policy.Node, Rank: w.Rank, LocalRank: w.LocalRank, At: w.at, Status: w.status,
	}
	if w.stop == exitcodes.StoppedOutside && n.policy.StopVerdictWorker {
		return o, StatusOnly
	}
	o.NotStarted, o.Stop, o.StoppedAt = w.why, w.stop, w.stoppedAt
	o.StepAt, o.OnUnknown = w.stepAt, n.policy.OnUnknown
	o.Checkpoint, o.Reload = w.accused, w.pid == 0 || n.policy.SilentRestart == SilentRestartFallback
	o.Lingered = w.lingered
	if n.request != nil {
		o.StopSignal = int(n.request.signal)
	}
	switch {
	case n.progressed():
		o.Progressed = exitcodes.Yes
	case n.step() != nil: // the step that it resumed from, and no other
		o.Progressed = exitcodes.No
	}
	switch {
	case w.stop == exitcodes.StoppedOutside:
		return o, WithOutput
	case w.lingered != "":
		return o, MachineOnly
	case w.pid != 0: // one that was stopped may have said before why it fails
		return o, Everything
	}
	return o, MachineOnly
}

// judged handles what the evidence says about a worker. If it failed by itself, the others are stopped, unless the failure
// may be the echo of another one: then the rank that caused it may be about to end by itself.
func (n *Node) judged(ev Judged) {
	w := &n.workers[ev.Worker]
	if n.state != Running || w.judged {
		return
	}
	w.judged, w.finding = true, n.inOwnWords(w, ev.Finding)
	if w.early && w.finding.Role < exitcodes.RoleRoot { // it may have missed those that have saved and left
		w.stop, w.finding.Role, w.finding.Names, w.finding.Hosts = exitcodes.StoppedByGang, exitcodes.RoleNone, nil, nil
	}
	if failedByItself(w) && n.request == nil && w.finding.Verdict == exitcodes.Preempted {
		// It says itself that it was asked to stop: somebody has told it directly.
		w.stop = exitcodes.StoppedOutside
		sig := Signal(w.finding.Code - exitcodes.CodeSignalBase)
		n.stopFromOutside(n.requested(sig), sig)
	}
	if failedByItself(w) && n.request == nil {
		if n.failedAt.IsZero() {
			n.failedAt = w.at
		}
		if v := w.finding.Verdict; v == exitcodes.Retry || v == exitcodes.Fatal {
			n.do(Failing{Round: n.round(), Outcome: outcomeOf(w.finding), Step: n.step()})
		}
		switch r := w.finding.Role; {
		case n.save != nil && n.save.over: // they have been told
		case r == exitcodes.RoleCascade || r == exitcodes.RoleSuspect:
			n.stopBy = earlier(n.stopBy, w.at.Add(echoTime))
		default:
			n.stopOthers()
		}
	}
	n.concludeIfOver()
}

// inOwnWords is a finding in which a request from outside has the name that a person would give it.
func (n *Node) inOwnWords(w *worker, f exitcodes.Finding) exitcodes.Finding {
	if w.stop == exitcodes.StoppedOutside && n.request != nil {
		f.Message, f.Evidence = n.request.named(f.Message), n.request.named(f.Evidence)
	}
	return f
}

func failedByItself(w *worker) bool {
	return w.stop == exitcodes.NotStopped && w.finding.Verdict != exitcodes.Success
}

// concludeIfOver concludes the round once its last worker is gone and judged. If one has failed, the machine is asked once
// more before: it may know more by now than when that worker ended.
func (n *Node) concludeIfOver() {
	amend := n.dumping
	for i := range n.workers {
		w := &n.workers[i]
		if !w.judged {
			return
		}
		amend = amend || failedByItself(w)
	}
	if amend {
		n.do(Amend{Hung: n.dumping})
		return
	}
	n.conclude()
}

func (n *Node) amended(ev Amended) {
	if n.state != Running {
		return
	}
	for i, f := range ev.Findings {
		n.workers[i].finding = n.inOwnWords(&n.workers[i], f)
	}
	for _, i := range ev.Hung {
		n.workers[i].stop = exitcodes.NotStopped // it was the cause
	}
	n.conclude()
}

// conclude says how the round ended, and clears up after it.
func (n *Node) conclude() {
	n.noteSave()
	n.tellHang()
	n.holding = holding{} // nobody is left who could be asked
	n.verdict = n.judge()
	n.do(Record{n.verdict.message})
	c := Concluded{Round: n.round(), Cause: n.verdict.cause}
	for i := range n.workers {
		c.Stops = append(c.Stops, n.workers[i].stop)
		c.Findings = append(c.Findings, n.workers[i].finding)
	}
	n.do(c)
	n.transition(Clearing)
	n.clear()
}

// outcomeOf is a finding for the other nodes. The agent says which round it is about.
func outcomeOf(f exitcodes.Finding) rendezvous.Outcome { return rendezvous.OutcomeOf(f, "", "", 0) }
