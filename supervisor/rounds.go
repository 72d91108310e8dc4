package supervisor

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
)

// ordered does what the agent says: the job's lead has decided it, here or on another node.
func (s *Supervisor) ordered(o agent.Order) {
	s.budget = o.Budget
	switch {
	case o.Start != nil:
		s.startOrdered(o.Start)
	case o.Stop != nil:
		s.stopOrdered(o.Stop)
	case o.End != nil:
		s.endOrdered(o.End)
	}
}

// startOrdered starts a round, unless a signal has come before it or the order is too old.
func (s *Supervisor) startOrdered(start *agent.Start) {
	s.round = start
	s.hearFirst()
	if s.outside == nil && s.cfg.Agent.MayStart() {
		s.start()
		return
	}
	s.cfg.Agent.Gone(start.Round.Number, rendezvous.Outcome{}, nil)
}

// stopOrdered stops the workers because of what has happened elsewhere.
func (s *Supervisor) stopOrdered(stop *agent.Stop) {
	if stop.Round != s.number() {
		return
	}
	if stop.Hurry {
		s.hurry(time.Now(), stop.Why)
	}
	if s.phase != running {
		return // they have stopped already
	}
	s.stopBy = time.Time{}
	now := time.Now()
	killAt := now.Add(s.cfg.RestartGrace)
	saveBy := killAt
	switch {
	case stop.Suspend:
		killAt, saveBy = s.times(now, s.cfg.Grace)
	case stop.Departure: // the others wait for the one that leaves, which has that time
		_, saveBy = s.times(now, s.cfg.Grace)
	}
	if s.failedAt.IsZero() { // else it is our own failure that comes back as an order
		s.failedAt = now
		s.log.Info("stopping the workers", "round", stop.Round, "why", stop.Why)
	}
	for _, w := range s.workers {
		if w.stop == exitcodes.NotStopped {
			w.makesWay = stop.Departure
			s.stopInTime(w, exitcodes.StoppedByGang, unix.SIGTERM, killAt, saveBy)
		}
	}
}

// endOrdered ends the run on this node.
func (s *Supervisor) endOrdered(e *rendezvous.End) {
	if s.final == nil {
		m := s.ending(e)
		s.final = &m
		attrs := []any{"verdict", e.Verdict, "reason", e.Reason, "code", m.ExitCode}
		switch {
		case e.Verdict == exitcodes.Success || m.Message == s.verdict.record.Message: // said, or nothing to say
		case e.Verdict == exitcodes.Suspended:
			s.log.Info("leaving: "+e.Message, attrs...)
		case rendezvous.CanEndAlone(e.Reason):
			s.log.Error("this node leaves, the job goes on without it: "+e.Message, attrs...)
		default:
			s.log.Error("the job ends: "+e.Message, attrs...)
		}
	}
	s.over = true
	if s.phase == waiting {
		s.phase = ended
	}
}

// tellOthers tells the other nodes of a failure while it is still being cleared up here: they need not wait for that. It
// reports whether the failure may be the echo of another one.
func (s *Supervisor) tellOthers(w *worker) (echo bool) {
	f := s.finding(w, s.evidence())
	if f.Verdict == exitcodes.Retry || f.Verdict == exitcodes.Fatal {
		s.cfg.Agent.Failing(s.number(), outcomeOf(f), s.step())
	}
	return f.Role == exitcodes.RoleCascade || f.Role == exitcodes.RoleSuspect
}

// outcomeOf is a finding for the other nodes. The agent says which round it is about.
func outcomeOf(f exitcodes.Finding) rendezvous.Outcome { return rendezvous.OutcomeOf(f, "", "", 0) }

// number is that of the current round, or the last; 0 before the first.
func (s *Supervisor) number() int {
	if s.round == nil {
		return 0
	}
	return s.round.Round.Number
}

// step is the last one that every worker which reports has finished; nil when nobody knows.
func (s *Supervisor) step() (lowest *int64) {
	for _, w := range s.workers {
		if w.notify == nil {
			continue
		}
		if err := w.notify.Problem(); err != nil {
			s.log.Warn("a worker's report is not understood", "worker", w, "err", err)
		}
		if step, known := w.notify.Step(); known && (lowest == nil || step < *lowest) {
			lowest = &step
		}
	}
	return lowest
}
