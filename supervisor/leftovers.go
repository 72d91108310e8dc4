package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/process"
)

const (
	leftoverGrace = time.Second           // from SIGTERM to SIGKILL
	leftoverAgain = 20 * time.Millisecond // between looks for processes that were forked while others were killed
	stuckAfter    = 30 * time.Second      // of SIGKILL: what sleeps uninterruptibly then is stuck in the kernel
	stuckAnyhow   = 2 * time.Minute       // and so is what does anything else: to give much memory back takes seconds
)

// leftovers removes what the workers of a round have left behind.
type leftovers struct {
	deadline time.Time
	killing  time.Time // since when; zero during the grace
}

// begin asks the leftovers to end.
func (l *leftovers) begin(s *Supervisor, now time.Time) {
	*l = leftovers{}
	grace := leftoverGrace
	switch {
	case s.restarts():
	case s.cfg.Leftovers == LeftoversLeave:
		s.cleared()
		return
	case s.outside != nil && !s.hurried:
		grace = max(0, s.outside.until.Sub(now)) // what remains of it
	}
	found := l.send(s, unix.SIGTERM, "the worker left processes behind: SIGTERM")
	if len(found) == 0 || !s.restarts() && s.cfg.Leftovers == LeftoversTerm {
		s.cleared()
		return
	}
	l.deadline = now.Add(grace)
}

// due kills, again and again since processes may fork while they are killed, and gives up on those that not even
// SIGKILL ends.
func (l *leftovers) due(s *Supervisor, now time.Time) {
	say := ""
	if l.killing.IsZero() {
		l.killing, say = now, "what the worker left behind did not stop: SIGKILL"
	}
	found := l.send(s, unix.SIGKILL, say)
	switch {
	case len(found) == 0:
		s.cleared()
	case stuck(found, now.Sub(l.killing)):
		s.log.Error("processes survive SIGKILL; they are stuck in the kernel", "processes", names(found))
		s.stuck = append(s.stuck, names(found))
		s.cleared()
	default:
		l.deadline = now.Add(leftoverAgain)
	}
}

// stuck reports whether none of the processes, killed this long ago, will end by itself.
func stuck(found []process.Descendant, since time.Duration) bool {
	return since > stuckAnyhow || since > stuckAfter &&
		!slices.ContainsFunc(found, func(d process.Descendant) bool { return !d.Uninterruptible() && !d.Dead() })
}

// send sends sig to every descendant, and says so when there is any and something to say.
func (l *leftovers) send(s *Supervisor, sig unix.Signal, say string) []process.Descendant {
	found, err := s.reaper.Descendants()
	if err != nil {
		s.log.Warn("cannot list processes", "err", err)
	}
	if alive := slices.DeleteFunc(slices.Clone(found), process.Descendant.Dead); len(alive) > 0 && say != "" {
		s.log.Warn(say, "processes", names(alive))
	}
	for _, d := range found {
		d.Signal(sig)
	}
	return found
}

// names lists processes for the log, bounded.
func names(found []process.Descendant) string {
	const most = 20
	var list []string
	for i, d := range found {
		if i == most {
			list = append(list, fmt.Sprintf("and %d more", len(found)-most))
			break
		}
		list = append(list, d.String())
	}
	return strings.Join(list, ", ")
}

// restarts reports whether another round may follow this one: then nothing of it may stay. Whether one does, the lead
// decides once nothing has stayed.
func (s *Supervisor) restarts() bool {
	v := s.verdict.record.Verdict
	failed := !s.cfg.NoRestart && (v == exitcodes.Retry || v == exitcodes.Fatal && s.cfg.RestartAny)
	return s.final == nil && (failed || s.verdict.outcome.Verdict == "") // or it was only stopped, for the others' sake
}

// unhealthy ends the run on this node: a process of the last round cannot be removed, and may hold a GPU, so no new
// round may start here. An end that is final, or asked for, stays what it is.
func (s *Supervisor) unhealthy() {
	m := s.verdict.record
	if m.Verdict == exitcodes.Retry {
		m.Reason, m.ExitCode = exitcodes.ReasonNodeUnhealthy, exitcodes.CodeNodeUnhealthy
	}
	m.Message += "; stuck in the kernel in spite of SIGKILL: " + strings.Join(s.stuck, ", ")
	s.records.write(m)
	s.final = &m
	s.cfg.Agent.Leave()
}
