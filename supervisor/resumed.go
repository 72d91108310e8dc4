package supervisor

import (
	"cmp"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// SilentRestart says what becomes of a worker that was given a checkpoint and went on from before it.
type SilentRestart string

// What becomes of such a worker.
const (
	SilentRestartFatal    SilentRestart = "fatal"    // it ends the job
	SilentRestartFallback SilentRestart = "fallback" // all restart, from an older checkpoint
	SilentRestartIgnore   SilentRestart = "ignore"
)

// sayResume says what the round goes on from, given the step that the last one had come to.
func (s *Supervisor) sayResume(last *int64) {
	resume, found := s.round.Round.Resume, s.round.Resumed
	if found == nil {
		if s.round.Round.Number > 0 && last != nil && s.round.Looked {
			s.log.Warn("there is no checkpoint yet: training starts over", "round", s.number(), "lost_steps", *last)
		}
		return
	}
	attrs := []any{"round", s.number()}
	if resume.Step == nil {
		s.log.Info("resuming from checkpoint", append(attrs, "path", found.Path, "content", resume.Identity)...)
		return
	}
	unit := cmp.Or(resume.Unit, "step")
	attrs = append(attrs, unit, *resume.Step, "path", found.Path)
	if resume.Unit == "" && last != nil && *last > *resume.Step {
		attrs = append(attrs, "lost_steps", *last-*resume.Step)
	}
	if resume.Decision == rendezvous.ResumeFallback {
		s.log.Warn("going back to an older checkpoint", attrs...)
		return
	}
	s.log.Info("resuming from checkpoint", attrs...)
}

// checkResumed compares the first step that each worker reports with the checkpoint that the round goes on from.
// Frameworks that cannot read a checkpoint, or do not find it, mostly begin anew without a word, and write over what is
// there.
func (s *Supervisor) checkResumed() {
	if s.phase != running || s.outside != nil || s.cfg.SilentRestart == SilentRestartIgnore {
		return
	}
	from := s.round.Round.Resume.Step
	if from == nil || s.round.Resumed == nil || s.round.Round.Resume.Unit != "" {
		return // an epoch is never compared with a step
	}
	for _, w := range s.workers {
		if w.checked || w.ended || w.notify == nil {
			continue
		}
		step, known := w.notify.Step()
		if !known {
			continue
		}
		w.checked = true
		// Whether step n has n steps behind it, or n+1, is a matter of taste.
		if step >= *from-1 || w.stop != exitcodes.NotStopped {
			continue
		}
		w.unresumed = fmt.Sprintf("was to go on from the checkpoint of step %d (%s) and reported step %d", *from,
			s.round.Resumed.Path, step)
		s.log.Error("training did not go on where it should: stopping it", "worker", w, "step", step, "checkpoint", *from)
		s.stopWorker(w, exitcodes.NotStopped, unix.SIGTERM, time.Now().Add(s.cfg.RestartGrace))
	}
}
