package output

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
)

// StreamConfig says where a [Stream] passes its bytes on to. Each part may be missing.
type StreamConfig struct {
	// Console shows the stream.
	Console *Console
	// Prefix stands before each line on the console, exactly as given ("[default0]:"). Without one the stream is passed
	// through byte by byte.
	Prefix string
	// Lines asks for whole lines on the console without a prefix too, for when several streams share it.
	Lines bool
	// Filter shows some of the lines somewhere else, too.
	Filter *Filter
	// File takes the exact bytes. The stream closes it when it is done.
	File *File
	// Watch is given the bytes as they come, before anybody else; it must not keep them.
	Watch func([]byte)
	// Tail keeps the last bytes; the two streams of one worker share one.
	Tail *Tail
}

// Stream is a pipe that a worker writes to. Its end and the worker's are different events: a process that the worker
// leaves behind may hold the pipe open, and what a dead worker printed may still be in the pipe.
type Stream struct {
	r   *os.File
	raw syscall.RawConn

	drains    chan chan struct{}
	closeOnce sync.Once
	closing   chan struct{}
	done      chan struct{}

	// What follows belongs to the reading goroutine.
	console *Console
	source  source
	lines   *lines // nil: passed through
	filter  *filtering
	file    *File
	tail    *tailPart
	watch   func([]byte)
	attempt func(fd uintptr) bool // reads once; made once, since one for each read would be garbage
	wait    bool                  // whether attempt waits for something to read
	buf     *[blockSize]byte
	n       int
	err     error
}

// past is a deadline that wakes a reader.
var past = time.Unix(1, 0)

// NewStream makes a pipe and starts to read it. The worker gets the returned file as its standard output or error; it
// is in blocking mode, as programs expect. The caller closes its copy once the worker has been started, or was not,
// since the stream ends only when nobody holds it any more. On an error (of pipe2(2), usually EMFILE) nothing was made
// and config.File is still the caller's.
func NewStream(config StreamConfig) (*Stream, *os.File, error) {
	s, w, err := newPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("output: pipe for a worker: %w", err)
	}
	s.console = config.Console
	s.filter = newFiltering(config.Filter)
	s.file, s.watch = config.File, config.Watch
	if config.Prefix != "" || config.Lines {
		s.lines = &lines{prefix: config.Prefix}
	}
	s.source.raw = s.lines == nil
	s.source.hurry = make(chan struct{}, 1)
	if config.Tail != nil {
		s.tail = config.Tail.join()
	}
	crash.Go(s.run)
	return s, w, nil
}

// newPipe makes only the reading end non-blocking: the flag belongs to the open file description, and each end of a
// pipe is one of its own. (os.Pipe does it to both, and what the worker gets then depends on how it is started.)
func newPipe() (*Stream, *os.File, error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		_ = syscall.Close(fds[0])
		_ = syscall.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "worker")
	raw, err := r.SyscallConn()
	if err != nil {
		_ = r.Close()
		_ = w.Close()
		return nil, nil, err
	}
	s := &Stream{
		r:       r,
		raw:     raw,
		drains:  make(chan chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
	}
	s.attempt = s.readOnce
	return s, w, nil
}

// Done returns a channel that is closed when the stream has ended (every holder of the pipe closed it, or Close was
// called) and all of it has been passed on: to the file, which is closed then, and to the console's buffer.
func (s *Stream) Done() <-chan struct{} {
	return s.done
}

// Drain waits until what is in the pipe at the time of the call has been passed on, and no longer: not for the end of
// the stream. It is for after the worker's exit, whose last words must not wait for a slow console: what is in the pipe
// goes beyond the console's limit, unless the console has stopped and lines are being dropped. False means that this was not so by the deadline, because the file is slow; the
// stream goes on by itself either way.
func (s *Stream) Drain(deadline time.Time) bool {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	drained := make(chan struct{})
	select {
	case s.drains <- drained:
	case <-s.done:
		return true
	case <-timer.C:
		return false
	}
	s.wake()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		poke(s.source.hurry) // again and again: the goroutine may be about to wait with another piece
		select {
		case <-drained:
			return true
		case <-s.done:
			return true
		case <-again.C:
		case <-timer.C:
			return false
		}
	}
}

// Close ends the stream without waiting for the pipe to end. An unfinished line is passed on, what is still in the
// pipe is not (see Drain), and whoever still writes to the pipe gets SIGPIPE. It returns at once; Done tells the end.
func (s *Stream) Close() {
	s.closeOnce.Do(func() { close(s.closing) })
	s.wake()
}

// Detach ends the stream as Close does, and returns the pipe's end for somebody else to read, if anybody still holds the
// other one; else nil. What was read is passed on before; a console or file that is too slow for the deadline keeps the
// stream to itself, and nil is returned.
func (s *Stream) Detach(deadline time.Time) *os.File {
	select {
	case <-s.done:
		return nil
	default:
	}
	var fd int
	err := s.raw.Control(func(own uintptr) {
		var errno syscall.Errno
		var dup uintptr
		dup, _, errno = syscall.Syscall(syscall.SYS_FCNTL, own, syscall.F_DUPFD_CLOEXEC, 3)
		if fd = int(dup); errno != 0 {
			fd = -1
		}
	})
	s.Close()
	if err != nil || fd < 0 {
		return nil
	}
	rest := os.NewFile(uintptr(fd), "worker")
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	select {
	case <-s.done:
		return rest
	case <-late.C:
		_ = rest.Close() // a copy
		return nil
	}
}

// wake makes the reading goroutine look at drains and closing, which has to be filled before. It can fail only once
// the stream is done.
func (s *Stream) wake() {
	_ = s.r.SetReadDeadline(past)
}
