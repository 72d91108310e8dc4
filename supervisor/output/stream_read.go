package output

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxDrain is more than is ever in a pipe: 64 KiB unless its writer asks for more, and 1 MiB is what it gets without
// privileges (pipe(7), /proc/sys/fs/pipe-max-size).
const maxDrain = 1 << 20

var readBuffers = sync.Pool{New: func() any { return new([blockSize]byte) }}

// A block of lines, and the longest line behind a short prefix.
var lineBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, blockSize+maxLine+256)
	return &b
}}

func (s *Stream) run() {
	defer close(s.done)
	defer s.finish()
	for {
		err := s.read(true)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = s.answer()
		}
		if err != nil {
			return
		}
	}
}

// answer does what the goroutine was woken for. An error means that the stream is over.
func (s *Stream) answer() error {
	for {
		// Before looking, so that whoever comes later wakes the goroutine again.
		if err := s.r.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
		select {
		case <-s.closing:
			return os.ErrClosed
		default:
		}
		select {
		case drained := <-s.drains:
			if err := s.empty(); err != nil {
				return err // done answers for it
			}
			s.relax()
			close(drained)
		default:
			return nil
		}
	}
}

// relax withdraws a hurry that was not needed.
func (s *Stream) relax() {
	select {
	case <-s.source.hurry:
	default:
	}
}

// empty passes on what is in the pipe now. The bound is for a process that goes on to fill it.
func (s *Stream) empty() error {
	for got := 0; got < maxDrain; got += s.n {
		poke(s.source.hurry)
		err := s.read(false)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			// Something else is wanted; answer looks again when this is done.
			s.n = 0
			if err := s.r.SetReadDeadline(time.Time{}); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// read reads once and passes on what it got. While it waits it holds no buffer.
func (s *Stream) read(wait bool) error {
	s.wait = wait
	if err := s.raw.Read(s.attempt); err != nil {
		return err
	}
	if s.buf == nil {
		return s.err
	}
	s.pass(s.buf[:s.n])
	readBuffers.Put(s.buf)
	s.buf = nil
	return nil
}

func (s *Stream) readOnce(fd uintptr) (ready bool) {
	buf := readBuffers.Get().(*[blockSize]byte)
	for {
		s.n, s.err = syscall.Read(int(fd), buf[:])
		if s.err != syscall.EINTR {
			break
		}
	}
	if s.n > 0 {
		s.buf = buf
		return true
	}
	readBuffers.Put(buf)
	if s.err == nil {
		s.err = io.EOF
	}
	return !s.wait || s.err != syscall.EAGAIN
}

// pass passes p on, first to what cannot block.
func (s *Stream) pass(p []byte) {
	if s.watch != nil {
		s.watch(p)
	}
	if s.tail != nil {
		s.tail.write(p)
	}
	if s.file != nil {
		s.file.write(p)
	}
	if s.filter != nil {
		s.filter.pass(p)
	}
	switch {
	case s.console == nil:
	case s.lines == nil:
		s.console.put(&s.source, p, false)
	default:
		s.show(p)
	}
}

// show formats p into lines for the console.
func (s *Stream) show(p []byte) {
	buf := lineBuffers.Get().(*[]byte)
	for len(p) > 0 {
		var out []byte
		continues := s.lines.continues(p)
		out, p = s.lines.format((*buf)[:0], p)
		if len(out) > 0 {
			s.console.put(&s.source, out, continues)
		}
		*buf = out
	}
	lineBuffers.Put(buf)
}

// finish ends everything that belongs to the stream alone. What can block comes last.
func (s *Stream) finish() {
	_ = s.r.Close()
	if s.file != nil {
		_ = s.file.Close()
	}
	if s.filter != nil {
		s.filter.finish()
	}
	if s.console != nil && s.lines != nil {
		if out := s.lines.flush(nil); len(out) > 0 {
			s.console.put(&s.source, out, false)
		}
	}
}
