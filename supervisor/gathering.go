package supervisor

import (
	"slices"
	"time"
)

// gatherTime is how long the reports of the workers are gathered before they are handed on. Ranks report a step within moments
// of each other, and fast ones many a second, and each look at the reports costs the same, however many there are. Whatever
// needs to know how far the workers are (an end, a signal, a stop, a save) takes the latest reports along without waiting.
const gatherTime = 100 * time.Millisecond

// gatherReports has what was heard handed on within gatherTime. A worker's first step is at once: with it the start, or the
// recovery, is over. So is each where a failure is rehearsed at a step, which the next step must not come before. What follows
// is not even read before, and wakes nobody, unless it is too much to lie for so long.
func (s *Supervisor) gatherReports() {
	if s.silentWorker() || !s.ears.MayWait() {
		s.ears.Hear()
	}
	if s.firstStep() || slices.ContainsFunc(s.cfg.Kills, func(k Kill) bool { return k.AtStep != nil }) {
		s.takeReports(false)
		return
	}
	if !s.gathers {
		s.gathers = true
		s.gathering.Reset(gatherTime)
	}
}

// silentWorker reports whether a worker is there of which no step was handed on: the next report may be its first.
func (s *Supervisor) silentWorker() bool {
	for i, w := range s.round.workers {
		if w.notify != nil && (i >= len(s.round.reports) || s.round.reports[i].Step == nil) {
			return true
		}
	}
	return false
}

// firstStep reports whether a worker of the round has told a step, and none was handed on of it.
func (s *Supervisor) firstStep() bool {
	for i, w := range s.round.workers {
		if w.notify != nil && (i >= len(s.round.reports) || s.round.reports[i].Step == nil) && w.notify.Told() {
			return true
		}
	}
	return false
}
