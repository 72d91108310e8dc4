package termlog

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/gangrun/gangrun/exitcodes"
)

// Log is an open termination log. It is for use by one goroutine only. A nil *Log is one that leads nowhere: its
// methods do nothing and succeed.
type Log struct {
	path string
	size int
	fd   int
	// borrowed marks a descriptor that was there before and stays open.
	borrowed bool
	kind     kind
	// clean is set once whatever the file held beyond size bytes is gone.
	clean bool
}

// kind says how a record gets into what is behind the path.
type kind int

const (
	// inPlace: a regular file that holds one record, the latest.
	inPlace kind = iota
	// stream: a pipe, a terminal or another device, to which each record is one more line.
	stream
	// socket: a stream that only takes messages. It cannot be opened by its path, so it is always borrowed.
	socket
)

// Open opens the termination log at path for records of size bytes, from exitcodes.MinMessage to exitcodes.MaxMessage.
// A file that does not exist is made, in a directory that does.
//
// Something other than a regular file gets one line per record, without padding. So does the file that standard output
// or standard error already goes to, since writing at its start would destroy the output. Nothing here waits
// for a reader: a FIFO that has none is an error, which matches syscall.ENXIO.
func Open(path string, size int) (*Log, error) {
	if size < exitcodes.MinMessage || size > exitcodes.MaxMessage {
		return nil, fmt.Errorf("termination log %s: %d bytes a record, want %d to %d",
			path, size, exitcodes.MinMessage, exitcodes.MaxMessage)
	}
	l := &Log{path: path, size: size}
	if l.borrow() {
		return l, nil
	}
	if err := l.open(); err != nil {
		if err == syscall.ENXIO {
			err = fmt.Errorf("%w: a FIFO that nobody reads, or a device that is not there", syscall.ENXIO)
		}
		return nil, l.failed("open", err)
	}
	return l, nil
}

// borrow takes standard output or standard error when the path leads to it and it cannot be opened a second time
// without harm. Pipes and terminals can, which is better: the new descriptor alone is made non-blocking.
func (l *Log) borrow() bool {
	var want, have syscall.Stat_t
	if syscall.Stat(l.path, &want) != nil {
		return false
	}
	switch want.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		l.kind = stream
	case syscall.S_IFSOCK:
		l.kind = socket
	default:
		return false
	}
	for _, fd := range []int{syscall.Stdout, syscall.Stderr} {
		if syscall.Fstat(fd, &have) == nil && have.Dev == want.Dev && have.Ino == want.Ino {
			l.fd, l.borrowed = fd, true
			return true
		}
	}
	return false
}

func (l *Log) open() error {
	// A terminal must not become this process's controlling one; newer kernels would only make it so if it were
	// opened for reading as well. For a regular file O_NONBLOCK means nothing.
	const flags = syscall.O_WRONLY | syscall.O_CREAT | syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC
	err := retry(func() (err error) {
		l.fd, err = syscall.Open(l.path, flags, 0o644)
		return err
	})
	if err != nil {
		return err
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(l.fd, &st); err != nil {
		syscall.Close(l.fd)
		return err
	}
	l.kind = stream
	if st.Mode&syscall.S_IFMT == syscall.S_IFREG {
		l.kind = inPlace
	}
	return nil
}

// Write replaces the record with m. In a regular file it is always exactly size bytes: the JSON object, spaces, and a
// newline. The error is an *fs.PathError; it says that this record may not be there, whole or at all, and the next
// one may be tried all the same. No job should fail for it.
//
// Whoever reads after this program has ended, killed or not, finds a whole record. Whoever reads while it runs may, on
// a file system whose reads do not wait for writes (ext4, tmpfs), see a new record's start before an old one's end,
// and should read again when that does not parse.
func (l *Log) Write(m exitcodes.Message) error {
	if l == nil {
		return nil
	}
	if l.fd < 0 {
		return l.failed("write", fs.ErrClosed)
	}
	record := m.Encode(l.size - 1)
	if l.kind == inPlace {
		record = append(record, bytes.Repeat([]byte(" "), l.size-1-len(record))...)
	}
	record = append(record, '\n')
	var n int
	err := retry(func() (err error) {
		n, err = l.put(record)
		return err
	})
	if err == nil && n < len(record) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return l.failed("write", err)
	}
	return l.trim()
}

// put writes the record in one system call, so that nobody finds a part of it: it lies within one page of memory, and
// a kernel does not stop for a signal in the middle of that.
func (l *Log) put(record []byte) (int, error) {
	switch l.kind {
	case inPlace:
		return syscall.Pwrite(l.fd, record, 0)
	case socket:
		return syscall.SendmsgN(l.fd, record, nil, nil, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
	default:
		return syscall.Write(l.fd, record)
	}
}

// trim cuts off what the file held beyond the record. It comes after the first write, not before: a file that is cut
// first holds half of something old until then.
func (l *Log) trim() error {
	if l.kind != inPlace || l.clean {
		return nil
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(l.fd, &st); err != nil {
		return l.failed("stat", err)
	}
	if st.Size > int64(l.size) {
		if err := retry(func() error { return syscall.Ftruncate(l.fd, int64(l.size)) }); err != nil {
			return l.failed("truncate", err)
		}
	}
	l.clean = true
	return nil
}

// Close closes the log. The last record stays. The error is the file system's.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	if l.fd < 0 {
		return l.failed("close", fs.ErrClosed)
	}
	fd := l.fd
	l.fd = -1
	if l.borrowed {
		return nil
	}
	// Not again after EINTR: on Linux the descriptor is gone by then.
	if err := syscall.Close(fd); err != nil && err != syscall.EINTR {
		return l.failed("close", err)
	}
	return nil
}

func (l *Log) failed(op string, err error) error {
	return &fs.PathError{Op: op, Path: l.path, Err: err}
}

// retry repeats a system call that a signal broke off before it did anything.
func retry(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}
