package supervisor

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/output"
	"github.com/gangrun/gangrun/supervisor/process"
)

// hookTimedOut is the code of a hook that had no time left: timeout(1)'s.
const hookTimedOut = 124

// hookRun is a hook while it runs, and while what it has left behind is removed.
type hookRun struct {
	hook
	s       *Supervisor
	pid     int
	streams []*output.Stream
	tail    output.Tail
	stuck   map[int]bool // processes from before that not even SIGKILL has ended

	startedAt      time.Time
	termAt, killAt time.Time // SIGTERM and SIGKILL are due, to what is left once the hook itself has ended
	killedAt       time.Time // zero: not yet
	late           bool      // its time was over before it had ended
	ended, over    bool
	status         exitcodes.Status
}

// hookTimes says when a hook that goes on and on gets SIGTERM, and when SIGKILL. There is no time beyond until, unless
// that is zero: the container is killed soon after. The last second before it is for the answer to SIGTERM.
func hookTimes(started time.Time, timeout, grace time.Duration, until time.Time) (term, kill time.Time) {
	term = started.Add(timeout)
	kill = term.Add(grace)
	if until.IsZero() || !until.Before(kill) {
		return term, kill
	}
	last := until.Add(-min(time.Second, until.Sub(started)/2))
	if last.Before(term) {
		term = last
	}
	return term, until
}

// runHook runs one hook to its end.
func (s *Supervisor) runHook(h hook, env []string) hookResult {
	now := time.Now()
	if until := s.doneBy(); !until.IsZero() && !now.Before(until) {
		return hookResult{name: h.name(), code: hookTimedOut, what: "was not started: the grace is over"}
	}
	r := &hookRun{hook: h, s: s, startedAt: now, stuck: s.knownStuck()}
	if err := r.start(append(env[:len(env):len(env)], hookVariable+"="+h.flag)); err != nil {
		code := exitcodes.CodeNotExecutable
		if se := (*process.StartError)(nil); errors.As(err, &se) {
			code = se.Code
		}
		return hookResult{name: h.name(), code: code, what: "could not be started: " + err.Error()}
	}
	s.log.Debug("exit hook started", "hook", h.name(), "pid", r.pid)
	for r.limit(); !r.over; r.due(time.Now()) {
		s.timer.Reset(time.Until(r.next()))
		select {
		case sig := <-s.cfg.Signals:
			r.signaled(sig.(unix.Signal))
		case ev := <-s.reaper.Events():
			r.changed(ev)
		case <-s.timer.C:
		}
	}
	return r.result()
}

// knownStuck are the processes that cannot be removed; usually there are none, and nothing is looked for.
func (s *Supervisor) knownStuck() map[int]bool {
	if len(s.stuck) == 0 {
		return nil
	}
	known := map[int]bool{}
	found, _ := s.reaper.Descendants() // without a list the wait for them is longer, and bounded all the same
	for _, d := range found {
		known[d.PID] = true
	}
	return known
}

// start starts the hook in a session of its own, so that no terminal is in its reach.
func (r *hookRun) start(env []string) error {
	dir := r.s.cfg.Dir
	path, err := process.Find(r.argv[0], dir, lookup(env, "PATH"))
	if err != nil {
		return err
	}
	files := make([]*os.File, 3)
	defer func() {
		for _, f := range files {
			if f != nil {
				_ = f.Close() // a copy: the hook has its own
			}
		}
	}()
	if files[0], err = os.Open(os.DevNull); err != nil {
		return err
	}
	for i, console := range []*output.Console{r.s.stdout, r.s.stderr} {
		config := output.StreamConfig{Console: console, Prefix: "[" + r.flag + "] ", Tail: &r.tail}
		stream, file, err := output.NewStream(config)
		if err != nil {
			return err
		}
		r.streams, files[i+1] = append(r.streams, stream), file
	}
	r.pid, err = r.s.reaper.Start(process.Spec{
		Path: path, Argv: r.argv, Env: env, Dir: dir, NewSession: true,
		Files: []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()},
	})
	return err
}

// limit sets the hook's times anew.
func (r *hookRun) limit() {
	until := r.s.doneBy()
	switch {
	case !r.killedAt.IsZero(): // nothing more can be done
	case !r.ended:
		r.termAt, r.killAt = hookTimes(r.startedAt, r.s.cfg.Hooks.Timeout, r.s.cfg.RestartGrace, until)
	case !until.IsZero() && until.Before(r.killAt):
		r.killAt = until
	}
}

func (r *hookRun) next() time.Time {
	if !r.ended && !r.late && r.termAt.Before(r.killAt) {
		return r.termAt
	}
	return r.killAt
}

// signaled takes in a signal from outside. The first that asks to stop starts the clock of the grace, in which a hook
// may well do its work; it gets those that follow. What else there is to pass on was meant for the workers.
func (r *hookRun) signaled(sig unix.Signal) {
	s, to := r.s, r.s.passedOn(sig)
	if to == 0 || !s.isNotice(sig) && !s.asksToStop(sig) && !s.asksToStop(to) && sig != unix.SIGHUP && sig != unix.SIGQUIT {
		return
	}
	call := s.called(sig, time.Now())
	if s.outside == nil {
		s.outside = call
		s.log.Info(call.kind+": the exit hooks have to end in time", "why", call.what, "until", call.until.Local().Format(time.TimeOnly))
	} else {
		s.outside.shorten(call)
		s.reaper.Signal(r.pid, to, true)
	}
	r.limit()
}

// changed takes in what became of a process.
func (r *hookRun) changed(ev process.Event) {
	if ev.PID == r.pid && ev.Ended() && !r.ended {
		r.ended = true
		if r.status.Code = ev.Status.ExitStatus(); ev.Status.Signaled() {
			r.status = exitcodes.Status{Signal: int(ev.Status.Signal())}
		}
		if r.over = ev.Alone; !r.over {
			r.clear(ev.At)
		}
	}
	if r.ended && ev.Alone {
		r.over = true
	}
}

// clear asks what the hook has left behind to end, as after a worker.
func (r *hookRun) clear(now time.Time) {
	if r.s.cfg.Leftovers == LeftoversLeave {
		r.over = true
		return
	}
	found := r.remains(unix.SIGTERM, "the exit hook left processes behind: SIGTERM")
	if len(found) == 0 || r.s.cfg.Leftovers == LeftoversTerm {
		r.over = true
		return
	}
	r.killedAt, r.killAt = time.Time{}, now.Add(leftoverGrace)
	r.limit()
}

// remains sends sig to what the hook has left behind, and returns it.
func (r *hookRun) remains(sig unix.Signal, say string) (found []process.Descendant) {
	for _, d := range r.s.left.send(r.s, sig, say) {
		if !r.stuck[d.PID] {
			found = append(found, d)
		}
	}
	return found
}

// due does what has become due.
func (r *hookRun) due(now time.Time) {
	switch {
	case r.over:
	case r.ended:
		if !now.Before(r.killAt) {
			r.killRemains(now)
		}
	default:
		r.killDue(now)
	}
}

// killDue ends a hook that has no time left.
func (r *hookRun) killDue(now time.Time) {
	if !r.late && !now.Before(r.termAt) {
		r.late = true
		r.s.reaper.Signal(r.pid, unix.SIGTERM, true)
		r.s.reaper.Signal(r.pid, unix.SIGCONT, true) // a stopped process cannot answer
	}
	switch {
	case now.Before(r.killAt):
	case r.killedAt.IsZero():
		r.killedAt, r.killAt = now, now.Add(stuckAfter)
		r.s.reaper.Signal(r.pid, unix.SIGKILL, true)
	case !stuck(process.Look(r.pid), now.Sub(r.killedAt)):
		r.killAt = now.Add(time.Second)
	default:
		r.s.log.Error("an exit hook survives SIGKILL; it is stuck in the kernel", "hook", r.name(), "pid", r.pid)
		r.over = true
	}
}

// killRemains kills what the hook has left behind, again and again: processes may fork while they are killed.
func (r *hookRun) killRemains(now time.Time) {
	say := ""
	if r.killedAt.IsZero() {
		r.killedAt, say = now, "what the exit hook left behind did not stop: SIGKILL"
	}
	found := r.remains(unix.SIGKILL, say)
	switch {
	case len(found) == 0:
		r.over = true
	case stuck(found, now.Sub(r.killedAt)):
		r.s.log.Error("processes survive SIGKILL; they are stuck in the kernel", "processes", names(found))
		r.over = true
	default:
		r.killAt = now.Add(leftoverAgain)
	}
}

// result says what became of the hook.
func (r *hookRun) result() hookResult {
	deadline := time.Now().Add(drainLimit)
	for _, stream := range r.streams {
		stream.Drain(deadline)
	}
	result := hookResult{name: r.name(), code: r.status.Number(), output: r.tail.Bytes()}
	switch {
	case r.late && r.termAt.Before(r.startedAt.Add(r.s.cfg.Hooks.Timeout)):
		result.code, result.what = hookTimedOut, "did not end before the grace was over"
	case r.late:
		result.code, result.what = hookTimedOut, fmt.Sprintf("did not end within %v", r.s.cfg.Hooks.Timeout)
	case r.status.Signal != 0:
		result.what = "was killed by " + exitcodes.SignalName(r.status.Signal)
	default:
		result.what = fmt.Sprintf("ended with exit code %d", r.status.Code)
	}
	return result
}
