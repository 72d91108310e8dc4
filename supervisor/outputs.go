package supervisor

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/internal/words"
	"github.com/gangrun/gangrun/supervisor/output"
)

// outputOf makes the worker's standard output (1) or error (2): a pipe that is read here, or the terminal itself,
// since a program behaves differently on one and what it shows there is for the person who watches.
func (s *Supervisor) outputOf(w *worker, sink Sink, fd int, filtered filtered) (*os.File, error) {
	if w.spec.Terminal && sink == (Sink{}) && output.IsTerminal(fd) {
		w.unseen = w.unseen || fd == 2 // where what goes wrong is told
		s.unread.Do(func() {
			s.log.Info("the worker has the terminal, so gangrun does not see its output and cannot say why it fails; it can with 2>&1 | cat after the command")
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
	if err != nil {
		if config.File != nil {
			_ = config.File.Close() // nothing was written to it
		}
		return nil, err
	}
	w.streams = append(w.streams, stream)
	filtered.feed(sink, stream)
	return file, nil
}

// logFile opens the file at path and makes its directory; it returns nil if there is to be none. Training runs even if its
// output cannot be kept.
func (s *Supervisor) logFile(path string) *output.File {
	if path == "" {
		return nil
	}
	complain := func(what string, err error) {
		text := err.Error() // of both streams it is often the same
		if last := s.logTrouble.Swap(&text); last == nil || *last != text {
			s.log.Warn(what, "err", err, "setting", words.SettingLogDir)
		}
	}
	file, err := openLog(s, path, func() (*output.File, error) {
		return output.OpenFile(path, func(err error) { complain("a log file is incomplete", err) })
	})
	if err != nil {
		complain("there is no log file", err)
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
	file, err := task.Within(openTime, func() (T, error) {
		defer s.pendingLogs.Add(-1)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return none, err
		}
		return open()
	}, task.CloseLate[T])
	if err == task.ErrLate {
		err = fmt.Errorf("%s: %w (%v); the worker starts without it", path, err, openTime)
	}
	return file, err
}
