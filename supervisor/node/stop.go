package node

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/words"
)

// passedOn is what a worker gets when sig comes; 0 for nothing. A notice is for gangrun: workers expect SIGTERM.
func (n *Node) passedOn(sig Signal) Signal {
	if mapped, found := n.policy.SignalMap[sig]; found {
		return mapped
	}
	if n.isNotice(sig) {
		return SIGTERM
	}
	return sig
}

// signaled passes a signal on as the map and the scope say, and if it asks for the end, each worker's clock starts.
func (n *Node) signaled(ev Signaled) {
	sig := ev.Signal
	to := n.passedOn(sig)
	if to == 0 {
		n.log(slog.LevelDebug, "signal dropped", "signal", sig.String())
		return
	}
	asks := n.isNotice(sig) || n.asksToStop(sig) || n.asksToStop(to)
	switch {
	case n.state == Hooking:
		n.signaledInHook(sig, to, asks)
		return
	case n.state == Flushing:
		n.signaledInFlush(sig, asks)
		return
	case n.jobControl(ev, to):
		return
	case asks:
		n.stopFromOutside(n.requested(sig), to)
		return
	case sig.ambiguous():
		// No clock runs, but a worker that ends right now has taken it as the end.
		for i := range n.workers {
			n.workers[i].hint, n.workers[i].hintBy = sig, n.now.Add(hintFor)
		}
		if n.state == Waiting || n.state == Starting {
			n.stopFromOutside(n.requested(sig), to)
			return
		}
	}
	for i := range n.workers {
		n.pass(i, to)
	}
}

// stopFromOutside ends the run. The workers get a signal at every request, later ones too.
func (n *Node) stopFromOutside(r *stopRequest, to Signal) {
	if n.savesFirst(r, to) {
		n.leaveAfterSave(r, to)
		return
	}
	switch {
	case n.save != nil:
		n.save.over = true
	case n.state != Running || n.gone() || n.request != nil || n.anyStopped() || r.signal == SIGINT:
	case n.looks():
		n.note = fmt.Sprintf("less than %v is too little for a save that all make", saveLeast)
	case n.mayLose():
		n.note = n.blind()
	}
	n.leave(r)
	n.askStacks()
	n.stopBy = time.Time{} // they are stopped now, and have this request's time
	switch n.state {
	case Starting:
		if !n.anyForked() {
			n.abandon()
		}
	case Clearing:
		n.left.clock.limit(n.request.until, n.request.until)
	}
	switch {
	case n.final != nil:
	case n.state == Waiting && n.decided():
		n.endWith(n.verdict.message)
	case n.state == Waiting:
		n.endWith(n.stoppedBetween())
	case n.state == Clearing && n.restarts():
		n.endWith(n.stoppedBetween())
	case n.state == Clearing:
		n.endWith(n.verdict.message)
	}
	for i := range n.workers {
		w := &n.workers[i]
		if w.ended {
			continue
		}
		if w.yields && !w.clock.killed() { // all nodes were called, and another was first: each has its time all the same
			w.yields, w.clock = false, clock{}
		}
		n.stopWorker(i, exitcodes.StoppedOutside, to, n.request.until, n.request.saveBy)
	}
}

// decided reports whether the last round here ended in a way after which there is no other: a request from outside then
// comes too late to be the reason. It says nothing about the other nodes.
func (n *Node) decided() bool {
	return n.ran && !n.restarts() && (n.policy.Alone || n.verdict.message.Verdict == exitcodes.Fatal)
}

// leave notes a request for the end from outside: this node goes, whatever the others do. The first one counts; later
// ones can only shorten the wait.
func (n *Node) leave(r *stopRequest) {
	if n.request != nil {
		n.request.shorten(r)
		return
	}
	n.request = r
	text, args := r.what, []any{"grace", r.until.Sub(n.now).Round(10 * time.Millisecond)}
	if !strings.Contains(r.what, r.kind) { // else it says that, too
		text, args = r.kind, append([]any{"why", r.what}, args...)
	}
	switch {
	case n.save != nil && !n.save.over:
		args = append(args, "save", "all ranks at the same step")
	case n.note != "":
		args = append(args, "save", "each rank for itself, if it does: "+n.note)
	}
	if r.signal == SIGINT && n.policy.Alone && n.state == Running { // a person waits; see requested
		args = append(args, "again", "Ctrl-C kills at once")
	}
	n.log(slog.LevelInfo, "stopping: "+text, args...)
	if n.state != Clearing || n.restarts() { // else the end is known, and its message written
		n.do(Record{n.stoppingMessage()})
	}
	n.do(Leave{Why: r.what, Saves: n.save != nil && !n.save.over})
}

// stopWorker sends sig to a worker that still runs and limits its clock. The first reason for the stop stays.
func (n *Node) stopWorker(i int, why exitcodes.Stop, sig Signal, killAt, saveBy time.Time) {
	w := &n.workers[i]
	if w.ended || w.pid == 0 {
		return
	}
	if w.stop == exitcodes.NotStopped {
		w.stop, w.stoppedAt = why, n.now
	}
	w.signaled = w.signaled || !w.lets
	w.clock.limit(killAt, saveBy)
	n.pass(i, sig)
	if w.paused {
		n.resume(i) // a stopped process cannot answer
	}
}

// stopOthers stops those that still run because one has failed.
func (n *Node) stopOthers() {
	n.stopBy = time.Time{}
	killAt := n.now.Add(n.policy.RestartGrace)
	for i := range n.workers {
		n.stopWorker(i, exitcodes.StoppedByGang, SIGTERM, killAt, killAt)
	}
}

// stopOrdered stops the workers because of what has happened elsewhere.
func (n *Node) stopOrdered(s Stop) {
	if s.Round != n.round() {
		return
	}
	n.preflight.elsewhere = s.Failure
	if n.state == Starting && !n.anyForked() {
		n.abandon()
		return
	}
	if s.Expedite {
		n.expedite(s.Why)
	}
	if n.state != Running {
		return // they have stopped already
	}
	n.askStacks() // as all nodes do now
	echo := !n.stopBy.IsZero()
	n.stopBy = time.Time{}
	killAt := n.now.Add(n.policy.RestartGrace)
	saveBy := killAt
	switch {
	case s.Suspend:
		killAt, saveBy = n.times(n.policy.Grace)
	case s.Departure: // the others wait for the one that leaves, which has that time
		_, saveBy = n.times(n.policy.Grace)
	}
	if n.failedAt.IsZero() { // else it is our own failure that comes back as an order
		n.failedAt, echo = n.now.Add(-s.Silence), true
		args := []any{"round", s.Round, "why", s.Why}
		if (s.Suspend || s.Departure) && n.save == nil && !n.gone() && !n.looks() {
			n.note = n.blind()
			args = append(args, "save", "each rank for itself, if it does: "+n.note)
		}
		if !n.policy.Alone || n.request == nil { // else leave has said it
			n.log(slog.LevelInfo, "stopping the workers", args...)
		}
	}
	if echo && s.Silent && !s.Suspend && !s.Departure && !n.dumping {
		n.dump()
		return
	}
	for i := range n.workers {
		switch w := &n.workers[i]; {
		case w.stop == exitcodes.NotStopped:
			w.yields = s.Departure
			n.stopWorker(i, exitcodes.StoppedByGang, SIGTERM, killAt, saveBy)
		case n.save != nil && !n.save.over && !w.ended:
			n.hurrySave(w, killAt, saveBy)
		}
	}
	if n.save != nil {
		n.save.over = true
	}
}

// expedite shortens a stop that may take long, of a node that was asked to stop or whose job is suspended: the others may
// continue without this node, and by then none of its workers may run. It holds for the rest of the round.
func (n *Node) expedite(why string) {
	until := n.now.Add(n.policy.RestartGrace)
	if n.stopsSlowly(until) {
		n.log(slog.LevelWarn, "what still runs gets no more time than a stop before a restart", "why", why, "setting", words.SettingRestartGrace)
	}
	n.expedited = true
	if n.state == Clearing {
		n.left.clock.limit(n.now.Add(leftoverGrace), n.now.Add(leftoverGrace))
	}
	for i := range n.workers {
		if w := &n.workers[i]; !w.ended && !w.clock.killed() && w.clock.runs() {
			w.clock.expedite(until)
			w.yields = false
		}
	}
}

// stopsSlowly reports whether the stop that is under way may take longer than others count on.
func (n *Node) stopsSlowly(until time.Time) bool {
	switch n.state {
	case Clearing:
		return n.left.clock.killAt.After(n.now.Add(leftoverGrace))
	case Running:
		for i := range n.workers {
			w := &n.workers[i]
			if !w.ended && !w.clock.killed() && (w.clock.killAt.After(until) || w.clock.saveBy.After(until)) {
				return true
			}
		}
	}
	return false
}

// workerDue does what the worker's stop clock says. One that SIGKILL does not end either is stuck in the kernel, most
// likely in a driver or on a dead file server: nothing can be done about it here, so it counts as gone.
func (n *Node) workerDue(i int) {
	w := &n.workers[i]
	if w.ended {
		return
	}
	switch w.clock.ring(n.now, w.report.Saving, lookAgain) {
	case deferred:
		n.log(slog.LevelInfo, "saving a checkpoint: SIGKILL waits until "+w.clock.saveBy.Local().Format(time.TimeOnly), "worker", w.String())
		if r := n.request; r != nil { // what comes after the workers, hooks too, has that time as well
			r.saving, r.until = true, r.saveBy
		}
	case kill:
		if w.dumped {
			n.log(slog.LevelInfo, "worker was asked for its stacks, and has not ended of that: SIGKILL", "worker", w.String())
		} else {
			n.log(slog.LevelWarn, "worker did not stop in time: SIGKILL", "worker", w.String())
		}
		n.do(Send{Worker: i, Signal: SIGKILL})
	case term:
		n.lastCalled(i)
	case look:
		n.do(Look{i})
	}
}

// looked handles a worker or hook that was killed and is still there.
func (n *Node) looked(ev Looked) {
	if ev.Worker == Hook {
		n.hookLooked(ev.Found)
		return
	}
	w := &n.workers[ev.Worker]
	if w.ended || !w.clock.stuck(ev.Found, n.now) {
		return
	}
	n.log(slog.LevelError, "worker survives SIGKILL; it is stuck in the kernel", "worker", w.String())
	n.stuck.add(w.String(), w.pid)
	n.ended(ev.Worker, exitcodes.Status{Signal: int(SIGKILL)}, n.now)
}

// pass passes a signal on to a worker as the scope says.
func (n *Node) pass(i int, sig Signal) {
	w := &n.workers[i]
	if w.ended || w.pid == 0 {
		return
	}
	if sig == SIGCONT {
		w.paused, w.ownPause = false, false
	}
	n.do(Send{Worker: i, Signal: sig, Group: n.policy.WholeGroup})
}
