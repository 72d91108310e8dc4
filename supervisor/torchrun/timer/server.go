// Package timer serves the timers that a training script sets with torch.distributed.elastic.timer: torch's client writes
// them to a named pipe, and a process whose timer runs out is sent the signal that it has asked for.
package timer

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/supervisor/evidence/procs"
)

// The variables by which torch's scripts find it.
const (
	VariableEnable = "TORCHELASTIC_ENABLE_FILE_TIMER"
	VariableFile   = "TORCHELASTIC_TIMER_FILE"
)

const (
	lookEvery = 500 * time.Millisecond
	mostLine  = 4 << 10 // bytes; torch writes no more than a pipe takes at once
)

// Server reads the timers, and ends processes that have overrun one.
type Server struct {
	Path string

	pipe *os.File
	log  *slog.Logger
	end  func(Expired) error
}

// Make makes the pipe at path. torch's client finds it there from now on; nothing is done before Serve. The error is the file
// system's.
func Make(path string) (*Server, error) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// It holds a writing end itself, so that it never reads the end of the file.
	pipe, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = os.Remove(path)
		return nil, err
	}
	return &Server{Path: path, pipe: pipe, end: end}, nil
}

// Serve begins to look after the timers, until Close.
func (s *Server) Serve(log *slog.Logger) {
	s.log = log
	crash.Go(s.run)
}

// Close takes the pipe away.
func (s *Server) Close() {
	_ = os.Remove(s.Path)
	_ = s.pipe.Close()
}

func (s *Server) run() {
	running := newTimers(began)
	looked := time.Now()
	var held []byte
	buffer := make([]byte, 64<<10)
	complained := false
	for {
		_ = s.pipe.SetReadDeadline(time.Now().Add(lookEvery))
		n, err := s.pipe.Read(buffer)
		held = append(held, buffer[:n]...)
		for {
			line, rest, whole := bytes.Cut(held, []byte("\n"))
			if !whole {
				break
			}
			held = rest
			if err := running.take(line); err != nil && !complained {
				complained = true
				s.log.Warn("a timer of the training could not be kept", "err", err)
			}
		}
		if len(held) > mostLine {
			held = nil
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return // closed
		}
		now := time.Now()
		if now.Sub(looked) >= lookEvery { // not with each line that comes
			looked = now
			running.forgetGone()
		}
		for _, e := range running.expired(now) {
			s.over(e)
		}
	}
}

// over ends a process whose timer has run out, and says so first: all that is seen afterwards is the signal.
func (s *Server) over(e Expired) {
	if e.Signal == 0 {
		s.log.Warn("a timer set by the training expired; it asks for no signal", "pid", e.PID, "scope", e.Scope)
		return
	}
	if err := s.end(e); err != nil {
		s.log.Warn("a timer set by the training expired, and its process could not be ended", "pid", e.PID, "scope", e.Scope,
			"err", err)
		return
	}
	s.log.Error("a timer set by the training expired: ending its process, as torchrun would", "pid", e.PID,
		"scope", e.Scope, "signal", unix.SignalName(unix.Signal(e.Signal)), "late", e.Late.Round(time.Millisecond))
}

// end sends the signal, only to a process below this one: whoever may write to the pipe may name any. A process that began
// at another time only has the same PID.
func end(e Expired) error {
	fd, err := unix.PidfdOpen(e.PID, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	table, err := procs.Read()
	if err != nil {
		return err
	}
	for _, p := range table.Tree(os.Getpid()) {
		if p.PID == e.PID && p.Began == e.Began {
			return unix.PidfdSendSignal(fd, unix.Signal(e.Signal), nil, 0)
		}
	}
	return errors.New("it is none of the workers")
}

// began is when a process did, while it has not ended.
func began(pid int) (ticks uint64, lives bool) {
	p, found := procs.Of(pid)
	return p.Began, found && !p.Dead()
}
