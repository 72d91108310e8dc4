package supervisor

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/evidence"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/process"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// How long the start of a round waits for a path that was given.
const (
	openTime    = 2 * time.Second  // a log file: without it the worker starts all the same
	commandTime = 10 * time.Second // the command, without which nothing starts
	mostPending = 8                // log files that are being opened and do not come back: no more are tried
)

// preparation is a round whose workers are being made ready, beside the loop.
type preparation struct {
	start    *agent.Start
	round    round
	failure  *node.Failure
	failed   int // the worker that it is about
	finished chan struct{}
}

// round is what a round's workers need and are.
type round struct {
	start    *agent.Start
	workers  []*worker
	filtered filtered
	reports  node.Reported                // of the workers, as last handed on; nil where none can report
	afresh   bool                         // what was reported is to be handed on again
	held     map[int][]process.Descendant // what was stopped of a worker that hangs, by its index
}

// prepare prepares the round's workers: beside the loop, since it opens paths.
func (s *Supervisor) prepare() {
	before := s.preparing
	p := &preparation{start: s.round.start, finished: make(chan struct{})}
	s.preparing = p
	s.beside(func() func() {
		defer close(p.finished)
		if before != nil {
			<-before.finished // it was given up, and uses the same ports; every wait in it has an end
		}
		s.makeReady(p)
		return func() { s.begin(p) }
	})
}

// begin hands on that a round is ready, after the signals that have come before.
func (s *Supervisor) begin(p *preparation) {
	if p != s.preparing {
		p.round.discard()
		return
	}
	s.signalsFirst()
	if p != s.preparing { // a signal has given it up
		p.round.discard()
		return
	}
	s.round = p.round
	ready := node.Prepared{Failure: p.failure, Failed: p.failed, MayStart: s.cfg.Agent.MayStart()}
	for _, w := range s.round.workers {
		ready.Workers = append(ready.Workers, node.Worker{
			Rank: w.spec.Rank, LocalRank: w.spec.LocalRank, Terminal: w.spec.Terminal, Session: w.spec.Session,
		})
	}
	s.step(ready)
}

// abandon gives up what was prepared, or is being prepared. The ports that it holds stay until the next round's.
func (s *Supervisor) abandon() {
	s.round.discard()
	s.round.workers = nil
	s.preparing = &preparation{finished: s.preparing.finished}
}

// discard gives back what was made for workers that are not to be started.
func (r round) discard() {
	for _, w := range r.workers {
		w.closeFiles()
		for _, stream := range w.streams {
			stream.Close()
		}
		w.forget()
	}
	crash.Go(func() { r.filtered.close(time.Now().Add(openTime)) })
}

// makeReady fills the preparation.
func (s *Supervisor) makeReady(p *preparation) {
	p.round = round{start: p.start, filtered: filtered{}}
	specs, err := task.Within(commandTime, func() ([]Worker, error) { return s.cfg.Workers(p.start) }, nil)
	if err != nil {
		if err == task.ErrLate {
			err = fmt.Errorf("the workers' ports and variables: %w (%v)", err, commandTime)
		}
		p.failure = failureOf(err)
		return
	}
	for i, spec := range specs {
		w := &worker{spec: spec, startedAt: time.Now()}
		p.round.workers = append(p.round.workers, w)
		if p.failure != nil {
			continue
		}
		if err := s.makeWorkerReady(w, i, p); err != nil {
			p.failure, p.failed = failureOf(err), i
		}
	}
	if p.failure != nil {
		p.round.discard()
	}
}

// failureOf is why something could not be started, in the node's words.
func failureOf(err error) *node.Failure {
	f := &node.Failure{Why: err.Error()}
	if se := (*process.StartError)(nil); errors.As(err, &se) {
		f.Code = se.Code
	}
	return f
}

// makeWorkerReady does all that the worker's start needs but the fork.
func (s *Supervisor) makeWorkerReady(w *worker, index int, p *preparation) (err error) {
	if w.path, err = s.findCommand(w.spec.Argv[0], environ.Get(w.spec.Env, "PATH")); err != nil {
		return err
	}
	if s.cfg.Hang.Mode != hang.Off {
		w.progress = progress.NewReader(s.cfg.StepLines)
	}
	if s.cfg.SeenProfile != nil {
		// One of its own: the other reads by what was named, or is not there.
		w.seen = progress.NewReader(nil)
		w.seen.Fits = s.cfg.SeenProfile
	}
	w.files[0] = os.Stdin
	if w.spec.NoInput {
		if w.files[0], err = os.Open(os.DevNull); err != nil {
			return err
		}
	}
	for fd, sink := range []Sink{1: w.spec.Stdout, 2: w.spec.Stderr} {
		if fd == 0 {
			continue
		}
		if w.files[fd], err = s.outputOf(w, sink, fd, p.round.filtered); err != nil {
			return err
		}
	}
	w.env = s.environment(w, index, p.start.Round.Number)
	if !w.ownErrorFile {
		w.errorBefore, _ = task.Within(errorFileTime, func() (evidence.FileID, error) { return evidence.IdentifyFile(w.errorFile), nil }, nil)
	}
	return nil
}

// findCommand looks a command up and reads its beginning: starting a program from a dead file server would block gangrun as a
// whole. So would the working directory, which the child enters before it is a program of its own.
func (s *Supervisor) findCommand(name, path string) (string, error) {
	found, err := task.Within(commandTime, func() (string, error) {
		_, _ = os.Stat(s.cfg.Dir + "/.") // what is wrong with it the fork says
		found, err := process.Find(name, s.cfg.Dir, path)
		if err != nil {
			return "", err
		}
		return found, process.Touch(found, s.cfg.Dir)
	}, nil)
	if err == task.ErrLate {
		return "", &process.StartError{Path: name, Err: fmt.Errorf("it, its interpreter or the working directory %s could not be read within %v",
			s.cfg.Dir, commandTime)}
	}
	return found, err
}

// fork starts a worker of the round that is ready.
func (s *Supervisor) fork(i int) node.Event {
	w := s.round.workers[i]
	defer w.closeFiles()
	if i == 0 {
		s.machine.begin()
	}
	spec := process.Spec{
		Path: w.path, Argv: w.spec.Argv, Env: w.env, Dir: s.cfg.Dir,
		Files:      []uintptr{w.files[0].Fd(), w.files[1].Fd(), w.files[2].Fd()},
		NewSession: s.cfg.Scope == ScopeSession || w.spec.Session,
		Terminal:   w.spec.Terminal && s.terminal.prepare(),
	}

	w.startedAt = time.Now()
	var err error
	if w.pid, err = s.reaper.Start(spec); err != nil {
		return node.NotForked{Worker: i, Failure: *failureOf(err)}
	}
	if spec.Terminal && !spec.NewSession {
		s.terminal.hand(w.pid)
	}
	return node.Forked{Worker: i, PID: w.pid, Handed: s.terminal.handed}
}
