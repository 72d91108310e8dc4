package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/evidence"
	"github.com/gangrun/gangrun/supervisor/notify"
	"github.com/gangrun/gangrun/supervisor/output"
	"github.com/gangrun/gangrun/supervisor/process"
)

// worker is one process of the current round.
type worker struct {
	spec         Worker
	pid          int
	notStarted   string // why there is no process
	streams      []*output.Stream
	tail         output.Tail
	errorFile    string
	ownErrorFile bool           // it was not the user who named it
	notify       *notify.Socket // nil where none can be made
	startedAt    time.Time

	checked   bool   // its first step was compared with the checkpoint's
	unresumed string // why it did not go on from the checkpoint that it was given

	stopped  bool // by job control
	ownStop  bool // by our SIGSTOP, and the news of it is still to come
	stop     exitcodes.Stop
	killAt   time.Time // SIGKILL is due; zero when it is not
	saveBy   time.Time // so far it can be put off while the worker saves a checkpoint
	waits    bool      // and it was
	makesWay bool      // it was stopped because another node leaves
	killed   bool
	killedAt time.Time
	// hinted is a signal from outside that may have meant the end, if the worker ends before hintedUntil.
	hinted      unix.Signal
	hintedUntil time.Time

	ended     bool
	at        time.Time
	status    exitcodes.Status
	finding   exitcodes.Finding // once the round has been judged
	errorData []byte
}

// String names the worker for a person: its process, and its rank if it has one.
func (w *worker) String() string {
	if w.spec.Rank < 0 {
		return fmt.Sprintf("pid %d", w.pid)
	}
	return fmt.Sprintf("rank %d, pid %d", w.spec.Rank, w.pid)
}

func (w *worker) end(ev process.Event) {
	w.ended, w.at = true, ev.At
	if ev.Status.Signaled() {
		w.status = exitcodes.Status{Signal: int(ev.Status.Signal())}
	} else {
		w.status = exitcodes.Status{Code: ev.Status.ExitStatus()}
	}
}

func (w *worker) failed() bool {
	return w.notStarted != "" || w.unresumed != "" || w.status != exitcodes.Status{}
}

// drainLimit bounds how long the state's owner waits for the last output of a worker that is gone. Reading what is in
// a pipe takes a millisecond; more is needed only when a log file's disk is slow.
const drainLimit = 250 * time.Millisecond

// tailBytes is the last output, including what was still in the pipes at the end.
func (w *worker) tailBytes() []byte {
	deadline := time.Now().Add(drainLimit)
	for _, s := range w.streams {
		s.Drain(deadline)
	}
	return w.tail.Bytes()
}

// readErrorFile returns what this round's worker wrote; a file from before it is somebody else's.
func (w *worker) readErrorFile() []byte {
	info, err := os.Stat(w.errorFile)
	if err != nil || info.ModTime().Before(w.startedAt.Add(-time.Second)) {
		return nil
	}
	return evidence.ReadErrorFile(w.errorFile)
}

// start starts the next round.
func (s *Supervisor) start() {
	s.phase = running
	s.sayResume(s.step())
	s.records.write(s.provisionalRecord())
	s.kernelLog.Skip()
	s.oomKillsBefore, _ = s.memory.OOMKills()
	s.stuck, s.verdict, s.stopBy = nil, verdict{cause: -1}, time.Time{}
	s.hurried = false
	specs, err := s.cfg.Workers(s.round)
	if bad := s.round.Unresumed; err != nil || bad != nil {
		w := &worker{spec: Worker{Rank: -1, LocalRank: -1}, startedAt: time.Now()}
		if bad != nil {
			err, w.unresumed = bad, "cannot go on: "+bad.Error()
		}
		s.workers = []*worker{w}
		s.startFailed(w, err)
		return
	}
	s.filtered = filtered{}
	s.workers = make([]*worker, len(specs))
	for i, spec := range specs {
		s.workers[i] = &worker{spec: spec, startedAt: time.Now()}
	}
	for i, w := range s.workers {
		if err := s.startWorker(w, i); err != nil {
			s.startFailed(w, err)
			return
		}
		s.log.Debug("worker started", "pid", w.pid, "round", s.number())
	}
	if !s.failedAt.IsZero() {
		s.recovery = time.Since(s.failedAt)
		s.log.Info("restarted", "round", s.number(), "recovery", s.recovery.Round(time.Millisecond))
		s.failedAt = time.Time{}
		s.records.write(s.provisionalRecord())
	}
}

// startFailed ends a round that could not be begun: the workers that run already are stopped.
func (s *Supervisor) startFailed(w *worker, err error) {
	now := time.Now()
	w.notStarted = err.Error()
	if se := (*process.StartError)(nil); errors.As(err, &se) {
		w.status = exitcodes.Status{Code: se.Code}
	}
	running := false
	for _, other := range s.workers {
		if other.pid == 0 {
			other.ended, other.at = true, now
			if other != w {
				other.stop = exitcodes.StoppedByGang
			}
			continue
		}
		running = true
		s.stopWorker(other, exitcodes.StoppedByGang, unix.SIGTERM, now.Add(s.cfg.RestartGrace))
	}
	if !running {
		s.concluded(process.Event{At: now, Alone: true})
	}
}

func (s *Supervisor) startWorker(w *worker, index int) error {
	path, err := process.Find(w.spec.Argv[0], s.cfg.Dir, lookup(w.spec.Env, "PATH"))
	if err != nil {
		return err
	}
	stdin := os.Stdin
	if w.spec.NoInput {
		if stdin, err = os.Open(os.DevNull); err != nil {
			return err
		}
		defer stdin.Close()
	}
	stdout, err := s.outputOf(w, w.spec.Stdout, 1)
	if err != nil {
		return err
	}
	defer stdout.Close()
	stderr, err := s.outputOf(w, w.spec.Stderr, 2)
	if err != nil {
		return err
	}
	defer stderr.Close()
	spec := process.Spec{
		Path: path, Argv: w.spec.Argv, Env: s.environment(w, index), Dir: s.cfg.Dir,
		Files:      []uintptr{stdin.Fd(), stdout.Fd(), stderr.Fd()},
		NewSession: s.cfg.Scope == ScopeSession || w.spec.Session,
		Terminal:   w.spec.Terminal && s.terminal.give(),
	}
	if w.pid, err = s.reaper.Start(spec); err == nil && spec.Terminal && !spec.NewSession {
		s.terminal.hand(w.pid)
	}
	return err
}

// outputOf makes the worker's standard output (1) or error (2): a pipe that is read here, or the terminal itself,
// since a program behaves differently on one and what it shows there is for the person who watches.
func (s *Supervisor) outputOf(w *worker, sink Sink, fd int) (*os.File, error) {
	if w.spec.Terminal && sink == (Sink{}) && isTerminal(fd) {
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		return os.NewFile(uintptr(dup), "terminal"), err
	}
	config := output.StreamConfig{
		Prefix: sink.Prefix, Lines: sink.Lines, Filter: s.filtered.open(s, sink), File: s.logFile(sink.File), Tail: &w.tail,
	}
	switch {
	case sink.Hidden:
	case fd == 1:
		config.Console = s.stdout
	default:
		config.Console = s.stderr
	}
	stream, file, err := output.NewStream(config)
	if err == nil {
		w.streams = append(w.streams, stream)
		s.filtered.feed(sink, stream)
	}
	return file, err
}

// logFile opens the file at path and makes its folder; it returns nil when there is to be none. Output that cannot be
// kept does not keep the training from running.
func (s *Supervisor) logFile(path string) *output.File {
	if path == "" {
		return nil
	}
	complain := func(err error) { s.log.Warn("a log file is not complete", "err", err) }
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		complain(err)
		return nil
	}
	file, err := output.OpenFile(path, complain)
	if err != nil {
		complain(err)
		return nil
	}
	return file
}

// MemberVariable marks whatever a gangrun has started, so that its successor of the same name can find it.
const MemberVariable = "GANGRUN_MEMBER"

// environment is the worker's, with what this round adds to it. A worker with an ErrorFile has been told of it.
func (s *Supervisor) environment(w *worker, index int) []string {
	env := slices.Clone(w.spec.Env)
	set := func(name, value string) {
		env = append(slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }), name+"="+value)
	}
	set("GANGRUN_JOB_NAME", s.cfg.Job)
	set("GANGRUN_NODE_NAME", s.cfg.Node)
	set("GANGRUN_ROUND", fmt.Sprint(s.number()))
	if s.cfg.Member != "" {
		set(MemberVariable, s.cfg.Member)
	}
	if w.notify = s.listen(index); w.notify != nil {
		set("NOTIFY_SOCKET", w.notify.Path)
	}
	if w.errorFile = w.spec.ErrorFile; w.errorFile != "" {
		return env
	}
	if w.errorFile = lookup(env, "TORCHELASTIC_ERROR_FILE"); w.errorFile == "" {
		// The worker makes the file if it has something to say.
		if w.errorFile = s.scratch.path(fmt.Sprintf("error-%d-%d.json", s.number(), index)); w.errorFile != "" {
			w.ownErrorFile = true
			set("TORCHELASTIC_ERROR_FILE", w.errorFile)
		}
	}
	return env
}

// listen makes the socket on which a worker may tell how far it is. A machine where none can be made (no folder to
// write to, or one with too long a name) trains all the same.
func (s *Supervisor) listen(index int) *notify.Socket {
	path := s.scratch.path(fmt.Sprintf("notify-%d-%d", s.number(), index))
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

// forget removes what the worker's process needed and nobody else does.
func (w *worker) forget() {
	if w.ownErrorFile {
		_ = os.Remove(w.errorFile) // most often it is not there
	}
	if w.notify != nil {
		w.notify.Close()
	}
}

func lookup(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if value, found := strings.CutPrefix(e, name+"="); found {
			return value
		}
	}
	return ""
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}
