package supervisor

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/supervisor/hang"
)

// busyFirst is how long it is waited for whether another node is busy, before anything is asked that costs more.
const busyFirst = 300 * time.Millisecond

// suspected gathers what there is to know about workers that seem to hang: first whether they wait for another node, then all
// the rest.
func (s *Supervisor) suspected(h *health, r *hang.Report) {
	h.suspicions++
	h.state, h.answers = nil, answers{}
	number := h.suspicions
	pids, env, dirs := s.pids(), s.round.workers[0].env, s.torchDirs()
	s.watching(h, func() func() {
		deadline := time.Now().Add(askTime)
		busy := s.askBusy(h)
		var elsewhere string
		select {
		case elsewhere = <-busy:
		case <-time.After(busyFirst):
		}
		if elsewhere != "" {
			return func() { s.excuse(h, number, elsewhere) }
		}
		answered := make(chan answers, 1)
		crash.Go(func() { answered <- s.ask(dirs, r.Acts, env, pids, deadline) })
		state, asked := stateOf(pids), <-answered
		select {
		case elsewhere = <-busy: // it was late
		default:
		}
		return func() {
			switch {
			case h.suspicions != number: // what was seen then tells nothing of what stands still now
			case elsewhere != "":
				s.excuse(h, number, elsewhere)
			default:
				h.state, h.answers = state.until(h.endedAt), asked
				if asked.unasked != nil {
					s.log.Debug("cannot query NCCL's RAS for the ranks' progress; judging the hang without it", "err", asked.unasked)
				}
				h.guard(func(d *hang.Detector) { d.Gathered() })
			}
		}
	})
}

// askBusy asks which other node is busy, so that the workers may wait for it. A silence is excused once: then who is busy for
// longer than any phase may take hangs itself.
func (s *Supervisor) askBusy(h *health) <-chan string {
	busy := make(chan string, 1)
	if s.cfg.Alone || h.detector.Excused() {
		busy <- ""
		return busy
	}
	crash.Go(func() { busy <- s.cfg.Agent.Busy(askTime) })
	return busy
}

// excuse notes that the workers may wait for a node that is busy.
func (s *Supervisor) excuse(h *health, number int, elsewhere string) {
	if h.suspicions != number {
		return
	}
	h.guard(func(d *hang.Detector) {
		if d.Excuse() {
			s.log.Info("the workers make no progress, and those of another node, which they may wait for, are busy", "busy", elsewhere)
		}
	})
}
