package supervisor

import (
	"os"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/supervisor/evidence"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/notify"
	"github.com/gangrun/gangrun/supervisor/output"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// worker is one process of the current round, as the machine sees it; what happens to it, the node decides.
type worker struct {
	spec  Worker
	path  string      // of the program
	env   []string    // with what the round adds
	files [3]*os.File // for the start; closed right after it

	pid       int
	startedAt time.Time
	streams   []*output.Stream
	tail      output.Tail
	notify    *notify.Socket   // nil where none can be made
	progress  *progress.Reader // nil where nobody asks
	seen      *progress.Reader // finds out whose lines the output shows; nil where nobody asks
	torch     string           // where its ranks put the sockets of torch's worker servers; empty: nowhere

	unseen       bool // what it writes to standard error goes to the terminal, and nobody here reads it
	errorFile    string
	ownErrorFile bool            // it was not the user who named it
	errorBefore  evidence.FileID // what was there before the start

	outcome   exitcodes.Outcome // with all the evidence, once it was gathered
	rules     *exitcodes.Rules  // by which it was judged
	finding   exitcodes.Finding // and what it was judged to be
	errorData []byte
}

// watch returns what reads one of the worker's streams as it comes; nil where nobody does.
func (w *worker) watch() func([]byte) {
	switch {
	case w.progress == nil && w.seen == nil:
		return nil
	case w.seen == nil:
		return w.progress.Stream()
	case w.progress == nil:
		return w.seen.Stream()
	}
	steps, names := w.progress.Stream(), w.seen.Stream()
	return func(p []byte) {
		steps(p)
		names(p)
	}
}

// closeFiles closes our copies of what the worker was given, or was to be given.
func (w *worker) closeFiles() {
	for i, f := range w.files {
		if f != nil && f != os.Stdin {
			_ = f.Close() // a copy: the worker has its own
		}
		w.files[i] = nil
	}
}

// forget removes what only the worker's process needed.
func (w *worker) forget() {
	if w.ownErrorFile {
		_ = os.Remove(w.errorFile) // most often it is not there
	}
	if w.notify != nil {
		w.notify.Close()
	}
}

// forget releases what the round's workers needed.
func (s *Supervisor) forget() {
	s.terminal.restore()
	for _, w := range s.round.workers {
		w.forget()
	}
	files := s.round.filtered
	crash.Go(func() { files.close(time.Now().Add(logTime)) })
}

// hear hands on what the workers have reported, up to this moment.
func (s *Supervisor) hear() { s.takeReports(true) }

// takeReports hands on what the workers have reported, up to this moment: of all workers, or only of those with news.
func (s *Supervisor) takeReports(all bool) {
	s.ears.Hear()
	if s.gathers {
		s.gathers = false
		s.gathering.Stop()
	}
	all = all || s.round.afresh
	s.round.afresh = false
	var steps []notify.Report
	now := time.Now()
	news := false
	for i, w := range s.round.workers {
		if w.notify == nil {
			continue
		}
		if len(s.round.reports) != len(s.round.workers) {
			s.round.reports = make(node.Reported, len(s.round.workers))
		}
		if fresh := w.notify.Fresh(); !fresh && !all {
			continue
		}
		news = true
		said := w.notify.Said()
		if err := w.notify.Problem(); err != nil {
			s.log.Warn("a worker sent a report that cannot be read", "pid", w.pid, "rank", w.spec.Rank, "err", err)
		}
		if said.Step != nil {
			s.cfg.Agent.Stepped(*said.Step)
		}
		s.round.reports[i] = node.Report{
			Step: said.Step, At: said.At, Saving: said.Saving, Total: said.Total,
			Most: said.Most, MostAt: said.MostAt, Looks: said.Looks, Blind: said.Blind, Leaving: said.Leaving,
		}
		s.health.told(i, w.spec.Rank, w.notify.Reports(), now)
		for _, r := range w.notify.TakeSteps() {
			if r.Rank < 0 {
				r.Rank = w.spec.Rank
			}
			steps = append(steps, r)
		}
	}
	if !news {
		return
	}
	stragglers := s.pace(steps)
	if now.Sub(s.reachedAt) >= tellReachedEvery { // while steps come in, nobody looks whether they do
		s.tellReached()
	}
	s.step(s.round.reports)
	for _, n := range stragglers {
		s.step(node.Straggles(n))
	}
}
