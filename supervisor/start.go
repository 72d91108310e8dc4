package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/evidence"
	"github.com/gangrun/gangrun/supervisor/evidence/flight"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/notify"
	"github.com/gangrun/gangrun/supervisor/output"
	"github.com/gangrun/gangrun/supervisor/process"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// How long the start of a round waits for a path that somebody named.
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

// prepare makes the round's workers ready: beside the loop, since it opens paths.
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
	specs, err := within(commandTime, func() ([]Worker, error) { return s.cfg.Workers(p.start) }, nil)
	if err != nil {
		if err == errLate {
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
		w.errorBefore, _ = within(errorFileTime, func() (evidence.FileID, error) { return evidence.IdentifyFile(w.errorFile), nil }, nil)
	}
	return nil
}

// findCommand looks a command up and reads its beginning: a program that is started while its file server is dead
// would hold up gangrun as a whole, not only itself. So would the working directory, which the child enters before it is
// a program of its own.
func (s *Supervisor) findCommand(name, path string) (string, error) {
	found, err := within(commandTime, func() (string, error) {
		_, _ = os.Stat(s.cfg.Dir + "/.") // what is wrong with it the fork says
		found, err := process.Find(name, s.cfg.Dir, path)
		if err != nil {
			return "", err
		}
		return found, process.Touch(found, s.cfg.Dir)
	}, nil)
	if err == errLate {
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

// outputOf makes the worker's standard output (1) or error (2): a pipe that is read here, or the terminal itself,
// since a program behaves differently on one and what it shows there is for the person who watches.
func (s *Supervisor) outputOf(w *worker, sink Sink, fd int, filtered filtered) (*os.File, error) {
	if w.spec.Terminal && sink == (Sink{}) && isTerminal(fd) {
		s.unread.Do(func() {
			s.log.Info("the worker writes to the terminal itself, so no rule can read why it fails; with 2>&1 | cat behind the command gangrun reads along")
		})
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		return os.NewFile(uintptr(dup), "terminal"), err
	}
	config := output.StreamConfig{
		Prefix: sink.Prefix, Lines: sink.Lines, Filter: filtered.open(s, sink), File: s.logFile(sink.File), Tail: &w.tail,
	}
	switch {
	case sink.Hidden:
	case fd == 1:
		config.Console = s.stdout
	default:
		config.Console = s.stderr
	}
	config.Watch = w.watch()
	stream, file, err := output.NewStream(config)
	if err == nil {
		w.streams = append(w.streams, stream)
		filtered.feed(sink, stream)
	}
	return file, err
}

// logFile opens the file at path and makes its directory; it returns nil when there is to be none. Output that cannot be
// kept does not keep the training from running.
func (s *Supervisor) logFile(path string) *output.File {
	if path == "" {
		return nil
	}
	complain := func(err error) {
		text := err.Error() // of both streams it is often the same
		if last := s.logTrouble.Swap(&text); last == nil || *last != text {
			s.log.Warn("a log file is incomplete", "err", err)
		}
	}
	file, err := openLog(s, path, func() (*output.File, error) { return output.OpenFile(path, complain) })
	if err != nil {
		complain(err)
		return nil
	}
	return file
}

// openLog opens a log file and makes its directory. A path that does not answer, such as a FIFO without a reader or one
// on a dead file server, is left alone after a while: the thread that waits for it is lost, so only a few are.
func openLog[T io.Closer](s *Supervisor, path string, open func() (T, error)) (T, error) {
	var none T
	if s.pendingLogs.Load() >= mostPending {
		return none, fmt.Errorf("%s: not opened, since others have not answered", path)
	}
	s.pendingLogs.Add(1)
	file, err := within(openTime, func() (T, error) {
		defer s.pendingLogs.Add(-1)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return none, err
		}
		return open()
	}, closeLate[T])
	if err == errLate {
		err = fmt.Errorf("%s: %w (%v); the worker starts without it", path, err, openTime)
	}
	return file, err
}

// MemberVariable marks whatever a gangrun has started, so that its successor of the same name can find it.
const MemberVariable = "GANGRUN_MEMBER"

// environment is the worker's, with what this round adds to it. A worker with an ErrorFile has been told of it.
func (s *Supervisor) environment(w *worker, index, number int) []string {
	env := slices.Clone(w.spec.Env)
	set := func(name, value string) { env = environ.Set(env, name, value) }
	set("GANGRUN_JOB_NAME", s.cfg.Job)
	set("GANGRUN_NODE_NAME", s.cfg.Node)
	set("GANGRUN_ROUND", fmt.Sprint(number))
	if s.cfg.Member != "" {
		set(MemberVariable, s.cfg.Member)
	}
	if w.notify = s.listen(index, number); w.notify != nil {
		set("NOTIFY_SOCKET", w.notify.Path)
	}
	if file := s.stopFile(number); file != "" {
		set(node.StopFileVariable, file)
	} else {
		env = environ.Unset(env, node.StopFileVariable) // that of a gangrun around this one is not ours to tell
	}
	if _, said := environ.Lookup(env, stacksVariable); s.cfg.PythonStacks && !said {
		set(stacksVariable, "1")
	}
	if w.torch = s.torchSockets(index, number); w.torch != "" {
		set(flight.Variable, w.torch)
		path := s.scratch.path(torchPlugin)
		if before := environ.Get(env, "PYTHONPATH"); before != "" {
			path += ":" + before
		}
		set("PYTHONPATH", path)
	}
	if w.errorFile = w.spec.ErrorFile; w.errorFile != "" {
		return env
	}
	if w.errorFile = environ.Get(env, "TORCHELASTIC_ERROR_FILE"); w.errorFile == "" {
		// The worker makes the file if it has something to say.
		if w.errorFile = s.scratch.path(fmt.Sprintf("error-%d-%d.json", number, index)); w.errorFile != "" {
			w.ownErrorFile = true
			set("TORCHELASTIC_ERROR_FILE", w.errorFile)
		}
	}
	return env
}

// torchPlugin is the directory of what import torch is to find.
const torchPlugin = "python"

// torchSockets makes the directory for the sockets of torch's worker servers, and what has torch start those.
func (s *Supervisor) torchSockets(index, number int) string {
	if !s.cfg.TorchControlPlane {
		return ""
	}
	dir := s.scratch.path(fmt.Sprintf("torch-%d-%d", number, index))
	if dir == "" {
		return ""
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = flight.Install(s.scratch.path(torchPlugin))
	}
	if err != nil {
		s.log.Warn("torch's control plane could not be started; hangs will be judged without it", "err", err)
		return ""
	}
	return dir
}

// listen makes the socket on which a worker may tell how far it is. A machine where none can be made (no directory to
// write to, or one with too long a name) trains all the same.
func (s *Supervisor) listen(index, number int) *notify.Socket {
	path := s.scratch.path(fmt.Sprintf("notify-%d-%d", number, index))
	if path == "" {
		return nil
	}
	socket, err := notify.Listen(path, s.heard)
	if err != nil {
		s.log.Debug("workers cannot report their steps", "err", err)
		return nil
	}
	return socket
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}
