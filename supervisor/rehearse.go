package supervisor

import (
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// rehearse does the kills that are due. What follows is what would follow the same failure in earnest.
func (s *Supervisor) rehearse(now time.Time) {
	if len(s.rehearsal) == 0 {
		return
	}
	s.rehearsal = slices.DeleteFunc(s.rehearsal, func(k Kill) bool {
		w := s.workerOf(k)
		if w == nil || !k.due(w, now) {
			return false
		}
		s.log.Warn("rehearsing a failure, as it was asked for", "worker", w, "signal", exitcodes.SignalName(int(k.Signal)))
		s.reaper.Signal(w.pid, k.Signal, false)
		return true
	})
}

// workerOf is the running worker that the kill is for.
func (s *Supervisor) workerOf(k Kill) *worker {
	for _, w := range s.workers {
		if w.spec.Rank == k.Rank && !w.ended {
			return w
		}
	}
	return nil
}

func (k Kill) due(w *worker, now time.Time) bool {
	if k.AtStep == nil {
		return !now.Before(w.startedAt.Add(k.After))
	}
	if w.notify == nil {
		return false
	}
	step, known := w.notify.Step()
	return known && step >= *k.AtStep
}

// nextKill is when the next kill by the clock is due; zero when there is none.
func (s *Supervisor) nextKill() (next time.Time) {
	for _, k := range s.rehearsal {
		if w := s.workerOf(k); w != nil && k.AtStep == nil {
			if at := w.startedAt.Add(k.After); next.IsZero() || at.Before(next) {
				next = at
			}
		}
	}
	return next
}
