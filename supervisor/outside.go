package supervisor

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/process"
)

// signaled takes in a signal from outside: it is passed on as the map and the scope say, and if it asks for the end,
// each worker's clock starts.
func (s *Supervisor) signaled(sig unix.Signal) {
	if sig == unix.SIGPIPE || s.terminal.expected(sig) { // a reader of our output is gone, which the write has told
		return
	}
	to := s.passedOn(sig)
	if to == 0 {
		s.log.Debug("signal dropped", "signal", exitcodes.SignalName(int(sig)))
		return
	}
	if s.ownSessions() && jobControlStop(to) && to == sig {
		s.suspendSessions()
		return
	}
	if sig == unix.SIGCONT && s.terminal.foreground(s) {
		return // a second SIGCONT could undo a stop that comes in between
	}
	now := time.Now()
	switch {
	case s.isNotice(sig) || s.asksToStop(sig) || s.asksToStop(to):
		s.stopFromOutside(s.called(sig, now), to)
		return
	case sig == unix.SIGHUP || sig == unix.SIGQUIT:
		// These may ask for the end or for something else (a dump of stacks, a new log file). No clock runs, but a
		// worker that ends now has taken it as the end.
		for _, w := range s.workers {
			w.hinted, w.hintedUntil = sig, now.Add(s.cfg.Grace)
		}
		if s.phase == waiting {
			s.stopFromOutside(s.called(sig, now), to)
			return
		}
	}
	for _, w := range s.workers {
		s.send(w, to)
	}
}

func (s *Supervisor) asksToStop(sig unix.Signal) bool { return slices.Contains(s.cfg.StopSignals, sig) }

func jobControlStop(sig unix.Signal) bool {
	return sig == unix.SIGTSTP || sig == unix.SIGTTIN || sig == unix.SIGTTOU
}

// stopFromOutside ends the run. The workers get a signal at every call, later ones too.
func (s *Supervisor) stopFromOutside(call *outside, to unix.Signal) {
	s.leave(call)
	s.stopBy = time.Time{} // they are stopped now, and have this call's time
	switch {
	case s.phase == waiting && s.final == nil:
		m := s.stoppedBetween()
		s.final = &m
	case s.phase == clearing:
		if s.final == nil {
			m := s.verdict.record
			if s.restarts() {
				m = s.stoppedBetween()
			}
			s.final = &m
		}
		if s.outside.until.Before(s.left.deadline) {
			s.left.deadline = s.outside.until
		}
	}
	for _, w := range s.workers {
		if w.ended {
			continue
		}
		if w.makesWay && !w.killed { // all nodes were called, and another was first: each has its time all the same
			w.makesWay, w.waits, w.killAt, w.saveBy = false, false, time.Time{}, time.Time{}
		}
		s.stopInTime(w, exitcodes.StoppedOutside, to, s.outside.until, s.outside.saveBy)
	}
}

// leave takes note of a call for the end from outside: this node goes, whatever the others do. The first one counts;
// later ones can only shorten the wait.
func (s *Supervisor) leave(call *outside) {
	if s.outside != nil {
		s.outside.shorten(call)
		return
	}
	s.outside = call
	s.log.Info("stopping: "+call.kind, "why", call.what, "grace", time.Until(call.until).Round(10*time.Millisecond))
	if s.phase != clearing || s.restarts() { // else the end is known, and its record written
		s.records.write(s.stoppingRecord())
	}
	s.cfg.Agent.Leave()
}

// stopWorker sends sig to a worker that still runs and sets the time of its SIGKILL, unless it is already closer. The
// first reason for the stop stays.
func (s *Supervisor) stopWorker(w *worker, why exitcodes.Stop, sig unix.Signal, killAt time.Time) {
	s.stopInTime(w, why, sig, killAt, killAt)
}

// stopInTime does the same with a worker that may go on until saveBy if it saves a checkpoint.
func (s *Supervisor) stopInTime(w *worker, why exitcodes.Stop, sig unix.Signal, killAt, saveBy time.Time) {
	if w.ended {
		return
	}
	if w.stop == exitcodes.NotStopped {
		w.stop = why
	}
	if !w.killed {
		w.killAt, w.saveBy = earlier(w.killAt, killAt), earlier(w.saveBy, saveBy)
		if w.waits {
			w.killAt = w.saveBy
		}
	}
	s.send(w, sig)
	if w.stopped {
		s.resume(w) // a stopped process cannot answer
	}
}

// send passes a signal on to a worker as the scope says.
func (s *Supervisor) send(w *worker, sig unix.Signal) {
	if w.ended {
		return
	}
	if sig == unix.SIGCONT {
		w.stopped, w.ownStop = false, false
	}
	s.reaper.Signal(w.pid, sig, s.cfg.Scope != ScopeWorker)
}

// resume lets a stopped worker go on, and its group.
func (s *Supervisor) resume(w *worker) {
	w.stopped, w.ownStop = false, false
	s.reaper.Signal(w.pid, unix.SIGCONT, true)
}

// killDue kills the workers whose clock has run out. One that SIGKILL does not end either is stuck in the kernel, most
// likely in a driver or on a dead file server; nothing can be done about it here, so it counts as gone.
func (s *Supervisor) killDue(now time.Time) {
	s.spareSaving(now)
	for _, w := range s.workers {
		switch {
		case w.ended || w.killAt.IsZero() || now.Before(w.killAt):
		case !w.killed:
			s.log.Warn("worker did not stop in time: SIGKILL", "worker", w)
			s.reaper.Signal(w.pid, unix.SIGKILL, false)
			w.killed, w.killAt, w.killedAt = true, now.Add(stuckAfter), now
		case !stuck(process.Look(w.pid), now.Sub(w.killedAt)):
			w.killAt = now.Add(time.Second)
		default:
			s.log.Error("worker survives SIGKILL; it is stuck in the kernel", "worker", w)
			s.stuck = append(s.stuck, w.String())
			w.ended, w.at, w.status = true, now, exitcodes.Status{Signal: int(unix.SIGKILL)}
			s.perhapsConcluded(process.Event{At: now})
		}
	}
}

// paused takes in that a worker was stopped or continued by job control. The news may be old: the worker may have been
// continued, or stopped again, since. So what it is now is looked up.
func (s *Supervisor) paused(w *worker, ws unix.WaitStatus) {
	own := w.ownStop
	w.ownStop = own && !ws.Stopped() // else that stop has yet to take effect
	now := process.Look(w.pid)
	w.stopped = w.ownStop || len(now) > 0 && now[0].State == 'T'
	if ws.Stopped() && w.stopped && !own {
		s.terminal.workerStopped(s, w, ws.StopSignal())
	}
}

// ownSessions reports whether workers have sessions of their own.
func (s *Supervisor) ownSessions() bool {
	return s.cfg.Scope == ScopeSession || slices.ContainsFunc(s.workers, func(w *worker) bool { return w.spec.Session })
}

// suspendSessions stops the workers' sessions, and this process with them, as the terminal's stop key would. The
// signals of the key itself have no effect there: the kernel ignores them in a session without a shell.
func (s *Supervisor) suspendSessions() {
	for _, w := range s.workers {
		s.suspend(w)
	}
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP) // as PID 1 the kernel ignores it
}

// suspend stops a worker. We may be stopped ourselves, and continued, before the news of it comes.
func (s *Supervisor) suspend(w *worker) {
	if !w.ended && !w.stopped {
		s.send(w, unix.SIGSTOP)
		w.stopped, w.ownStop = true, true
	}
}

// tookAsStop returns the signal from outside that the worker took as the end although it did not come as a plain stop
// signal: one that was passed on to it a moment ago, or one that went to the worker directly.
func (s *Supervisor) tookAsStop(w *worker) unix.Signal {
	if w.stop != exitcodes.NotStopped || !w.failed() {
		return 0
	}
	if w.hinted != 0 && w.at.Before(w.hintedUntil) {
		return w.hinted
	}
	sig := unix.Signal(w.status.Signal)
	if sig != 0 && s.isNotice(sig) {
		return sig // a scheduler may send it to every process
	}
	if w.spec.Terminal && s.terminal.handed && (sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGHUP) {
		return sig
	}
	return 0
}
