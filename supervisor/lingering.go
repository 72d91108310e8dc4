package supervisor

import (
	"fmt"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/words"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/node"
)

// readWords reads whether the last words of workers that have fallen silent are those of a program that has ended.
func (s *Supervisor) readWords(h *health, of []int) {
	for _, i := range of {
		w, since := s.round.workers[i], h.endings.Since(i)
		s.watching(h, func() func() {
			o := exitcodes.Outcome{Rank: w.spec.Rank, LocalRank: w.spec.LocalRank}
			o.Output, o.Arrived = w.tail.Read()
			line, ended := exitcodes.SaysEnd(o, s.cfg.Rules())
			return func() {
				h.guard(func(*hang.Detector) {
					h.final[i] = line
					h.endings.Said(i, since, ended)
				})
			}
		})
	}
}

// lingers ends a worker that has failed and does not end, and with it the others, or says what would have been done.
func (s *Supervisor) lingers(h *health, i int) {
	w := s.round.workers[i]
	why := fmt.Sprintf("%s has failed and does not end; it does nothing for %v since it said %q",
		w.name(i), time.Since(h.endings.Since(i)).Round(time.Second), h.final[i])
	if s.cfg.Hang.Mode == hang.Observe {
		s.log.Warn("a worker appears to hang at its exit, and is left alone", "why", why, "setting", words.SettingHang)
		return
	}
	pids := s.pids()
	s.watching(h, func() func() {
		state := stateOf(pids)
		return func() {
			if s.health == h && s.stillLingers(h, i) {
				h.lingers, h.state = i, state
				s.step(node.Hung{Why: why, Failed: true})
			}
		}
	})
}

// stillLingers reports whether a worker has shown nothing while its state was read, either: on a busy machine that takes long.
func (s *Supervisor) stillLingers(h *health, i int) (lingers bool) {
	h.guard(func(d *hang.Detector) {
		h.read(d, i, s.round.workers[i], time.Now())
		lingers = h.endings.Lingers(i)
	})
	return lingers
}
