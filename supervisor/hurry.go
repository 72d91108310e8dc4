package supervisor

import "time"

// hurry shortens a stop that may take long, of a node that was told to stop, or whose job is suspended: the others may go
// on without this node, and nothing of its workers may run by then. It holds for the rest of the round.
func (s *Supervisor) hurry(now time.Time, why string) {
	until := now.Add(s.cfg.RestartGrace)
	if s.stopsSlowly(now) {
		s.log.Warn("what still runs gets no more time than --restart-grace", "why", why)
	}
	s.hurried = true
	if s.phase == clearing {
		s.left.deadline = earlier(s.left.deadline, now.Add(leftoverGrace))
	}
	for _, w := range s.workers {
		if !w.ended && !w.killed && !w.killAt.IsZero() {
			w.killAt, w.saveBy = earlier(w.killAt, until), earlier(w.saveBy, until)
			w.makesWay, w.waits = false, false
		}
	}
}

// stopsSlowly reports whether the stop that is under way may take longer than others count on.
func (s *Supervisor) stopsSlowly(now time.Time) bool {
	switch s.phase {
	case clearing:
		return s.left.deadline.After(now.Add(leftoverGrace))
	case running:
		for _, w := range s.workers {
			if until := now.Add(s.cfg.RestartGrace); !w.ended && !w.killed && (w.killAt.After(until) || w.saveBy.After(until)) {
				return true
			}
		}
	}
	return false
}
