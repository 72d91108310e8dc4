package supervisor

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/internal/words"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/notify"
	"github.com/gangrun/gangrun/supervisor/process"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// health watches whether the workers of a round get on. It may fail without taking the training along: then there is
// no more of it in this round.
type health struct {
	detector *hang.Detector
	endings  *hang.Endings
	log      *slog.Logger
	broken   bool

	signs    []progress.Sign // what each worker's output had shown at the last look
	sampling bool            // a sample is being taken
	// suspicions is how many there were; answers and state are of the newest.
	suspicions int
	hang       *hang.Report // that was found
	// silentSince is when the last progress before it was seen.
	silentSince time.Time
	final       map[int]string // the last words of workers that have failed, as far as those tell
	answers     answers        // upon it
	lingers     int            // the worker that has failed and does not end; -1: none
	state       *machineState  // of the newest suspicion; nil where it is not known
	endedAt     time.Time      // the workers began to be held, or ended; zero: they have not
}

// watch begins to watch when workers run, and ends when they are gone.
func (s *Supervisor) watch() {
	s.watchPace()
	switch state := s.node.State(); {
	case state == node.Running && s.health == nil && s.cfg.Hang.Mode != hang.Off:
		n := len(s.round.workers)
		now := time.Now()
		s.health = &health{
			detector: hang.New(s.cfg.Hang, n, now), endings: hang.NewEndings(s.cfg.Hang.ExitTimeout, n, now),
			log: s.log, signs: make([]progress.Sign, n), final: map[int]string{}, lingers: -1,
		}
		s.health.guard(func(d *hang.Detector) { d.Waits(process.Waited) })
	case state != node.Running:
		s.health = nil
	}
}

// guard does f with the detector. What goes wrong in it costs the detection, and nothing else.
func (h *health) guard(f func(*hang.Detector)) {
	if h == nil || h.broken {
		return
	}
	defer func() { h.fault(recover(), debug.Stack) }()
	f(h.detector)
}

// fault takes what has gone wrong in the detection; nil: nothing.
func (h *health) fault(what any, stack func() []byte) {
	if what == nil || h.broken {
		return
	}
	h.broken = true
	h.log.Error("hang detection failed and is off for this round; training continues", "error", fmt.Sprint(what), "stack", string(stack()))
}

// watching does f, which may take time, beside the loop, as beside does. What goes wrong in it costs the detection, too.
func (s *Supervisor) watching(h *health, f func() func()) {
	s.beside(func() (goOn func()) {
		defer func() {
			if what := recover(); what != nil {
				stack := debug.Stack()
				goOn = func() { h.fault(what, func() []byte { return stack }) }
			}
		}()
		return f()
	})
}

// next is the earlier of a deadline, which may be none, and the next look.
func (h *health) next(deadline time.Time) time.Time {
	h.guard(func(d *hang.Detector) {
		for _, next := range []time.Time{d.Next(), h.endings.Next()} {
			if !next.IsZero() && (deadline.IsZero() || next.Before(deadline)) {
				deadline = next
			}
		}
	})
	return deadline
}

// told takes what the ranks of a worker have reported. rank is the worker's own.
func (h *health) told(i, rank int, reports []notify.Report, now time.Time) {
	h.guard(func(d *hang.Detector) {
		for _, r := range reports {
			if r.Rank < 0 {
				r.Rank = rank
			}
			sign := hang.Sign{Rank: r.Rank, Step: r.Step, Steps: r.Steps, Phase: r.Phase}
			if r.Stepped { // whatever it did before, it trains
				sign.Phase = ""
			}
			h.tells(d, i, sign, now)
		}
	})
}

// tells hands on what a rank has told. What it has told before is no sign of life.
func (h *health) tells(d *hang.Detector, i int, sign hang.Sign, now time.Time) {
	if d.Told(i, sign, now) {
		h.endings.Heard(i, now)
	}
}

func (h *health) ended(i int) {
	h.guard(func(d *hang.Detector) {
		if i >= 0 {
			d.Ended(i, time.Now())
			h.endings.Ended(i)
		}
	})
}

// ending takes that the workers begin to be held, or ended, for their hang: of where they stood before that, what is seen of
// them from then on says nothing.
func (h *health) ending() {
	if h != nil && h.endedAt.IsZero() {
		h.endedAt = time.Now()
	}
}

// hurries reports whether the workers may hang, or are being ended for it: what is to be done then, others wait for.
func (h *health) hurries() (hurries bool) {
	h.guard(func(d *hang.Detector) { hurries = d.Suspects() || !h.endedAt.IsZero() })
	return hurries
}

// silent reports whether the workers have got nowhere for so long that it may be a hang.
func (h *health) silent() (silent bool) {
	h.guard(func(d *hang.Detector) { silent = d.Silent(time.Now()) })
	return silent
}

// look asks what follows from what was heard.
func (s *Supervisor) look() {
	h := s.health
	if h == nil || h.hang != nil && h.hang.Acts || h.lingers >= 0 {
		return // they are being ended
	}
	var do hang.Decision
	ends := hang.Ends{Over: -1}
	now := time.Now()
	h.guard(func(d *hang.Detector) {
		for i, w := range s.round.workers {
			h.read(d, i, w, now)
		}
		do, ends = d.Tick(now), h.endings.Tick(now)
	})
	s.tellReached()
	if do.Sample || len(ends.Sample) > 0 {
		s.sample(h, ends.Sample)
	}
	s.readWords(h, ends.Read)
	switch {
	case ends.Over >= 0:
		s.lingers(h, ends.Over)
	case do.Warn != nil:
		s.log.Warn("the workers may be hanging: half of the limit has passed", "silence", do.Warn.String(), "limit", do.Warn.Limit)
	case do.Suspect != nil:
		s.suspected(h, do.Suspect)
	case do.Relieved:
		s.log.Info("the workers are making progress again")
	case do.Hang != nil:
		s.hangs(h, do.Hang)
	}
}

// read takes what a worker's output shows, where it does not tell in a better way.
func (h *health) read(d *hang.Detector, i int, w *worker, now time.Time) {
	if w.progress == nil {
		return
	}
	sign, before := w.progress.Sign(), h.signs[i]
	h.signs[i] = sign
	if sign.Bytes != before.Bytes {
		d.Printed(i, now)
		h.endings.Heard(i, now)
	}
	if w.notify != nil && w.notify.Told() || sign.Steps == before.Steps && sign.Phase == before.Phase {
		return
	}
	told := hang.Sign{Rank: w.spec.Rank, Phase: sign.Phase, At: sign.At, Line: true}
	if sign.Steps > 0 {
		told.Step, told.Steps = &sign.Step, sign.Steps
	}
	if sign.Stepped {
		told.Phase = ""
	}
	h.tells(d, i, told, now)
}

// tellReachedEvery is how often the others are told at most how far the workers have come, while they report it.
const tellReachedEvery = time.Second

// tellReached tells the job how far the workers here have come: as far as the one that is behind.
func (s *Supervisor) tellReached() {
	s.reachedAt = time.Now()
	reached := rendezvous.Reached{Round: s.round.start.Round.Number}
	for _, w := range s.round.workers {
		if step, told := w.lastStep(); told && (reached.Step == nil || step < *reached.Step) {
			reached.Step, reached.Phase = &step, w.phase()
		}
	}
	if c := s.saved; c != nil && c.Step >= 0 && c.Unit == format.UnitStep {
		reached.Checkpoint = &c.Step
	}
	s.health.guard(func(d *hang.Detector) { reached.Busy = d.Busy(s.reachedAt) })
	if reached.Step != nil || reached.Busy != "" {
		if reached.Busy == "" { // else there are no steps to compare
			reached.Own = s.ownTime(s.reachedAt)
		}
		s.cfg.Agent.Progressed(reached, s.health.silent())
	}
}

// torchDirs are where the ranks of the workers that run may listen.
func (s *Supervisor) torchDirs() (dirs []string) {
	for _, w := range s.round.workers {
		if w.torch != "" {
			dirs = append(dirs, w.torch)
		}
	}
	return dirs
}

// pids are those of the workers that run, 0 for others.
func (s *Supervisor) pids() []int {
	pids := make([]int, len(s.round.workers))
	for i, w := range s.round.workers {
		pids[i] = w.pid
	}
	return pids
}

// hangs ends workers that hang, or says what would have been done.
func (s *Supervisor) hangs(h *health, r *hang.Report) {
	h.hang, h.silentSince = r, time.Now().Add(-r.Silence)
	if r.Acts {
		s.step(node.Hung{Why: r.Silent(), Standing: r.Standings(), Exiting: r.Exiting, Failed: h.endings.Failed()})
		return
	}
	s.log.Warn("the workers appear to hang, and are left alone", "silence", r.String(), "limit", r.Limit, "setting", words.SettingHang)
	state, round := h.state, s.round.start.Round.Number
	s.beside(func() func() {
		s.keep(round, evidenceFile{"state.txt", state.text(r)})
		return func() {}
	})
}
