// Package file keeps events in a file, one on each line, and turns to a new one before it grows too large. Whoever
// hands events in never waits for the disk: a goroutine of its own writes, and counts what it could not.
package file

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/observe/event"
)

// The most that is kept: the file, and three older ones beside it, FILE.1 being the newest of them.
const (
	DefaultSize = 64 << 20 // bytes of one file
	Older       = 3
	queued      = 4096 // events that wait for the disk; a further one is dropped
)

// Writer is a file of events.
type Writer struct {
	path  string
	size  int64
	log   *slog.Logger
	queue chan event.Event
	work  task.Task

	out     *os.File
	written int64
	rotates bool       // it is a regular file
	said    bool       // that it cannot be written
	dropped int64      // since the last that was written
	missed  chan int64 // dropped before they came into the queue
	lost    atomic.Int64
}

// Open keeps events at path, in files of at most size bytes. The file is opened beside the caller; what is wrong with
// it is said in the log, once, and training goes on.
func Open(path string, size int64, log *slog.Logger) *Writer {
	w := newWriter(path, size, log)
	w.work = task.Begin(w.run)
	return w
}

func newWriter(path string, size int64, log *slog.Logger) *Writer {
	return &Writer{
		path: path, size: size, log: log, queue: make(chan event.Event, queued), missed: make(chan int64, 1),
	}
}

// Take hands events in. It never waits. It is not to be called after Close, nor twice at once.
func (w *Writer) Take(events []event.Event) {
	for _, e := range events {
		select {
		case w.queue <- e:
		default:
			w.lost.Add(1)
			n := int64(1)
			select {
			case before := <-w.missed:
				n += before
			default:
			}
			w.missed <- n
		}
	}
}

// Dropped is how many events are not in the file.
func (w *Writer) Dropped() int64 { return w.lost.Load() }

// Close writes what still waits, for no longer than limit. The error says that not all is in the file.
func (w *Writer) Close(limit time.Duration) error {
	close(w.queue)
	if !w.work.EndsWithin(limit) {
		return fmt.Errorf("the last events are not in %s: it does not answer", w.path)
	}
	return nil
}

func (w *Writer) run() {
	for e := range w.queue {
		w.write(e)
	}
	if w.out != nil {
		w.complain(w.out.Close())
	}
}

func (w *Writer) write(e event.Event) {
	select {
	case n := <-w.missed:
		w.dropped += n
	default:
	}
	line := e.Encode()
	if w.dropped > 0 {
		gap := e.AfterDropped(w.dropped)
		line = append(gap.Encode(), line...)
	}
	err := w.ready(int64(len(line)))
	if err == nil {
		var n int
		n, err = w.out.Write(line)
		w.written += int64(n)
		if err != nil && n > 0 { // half a line: the next one is to begin on its own
			_, _ = w.out.Write([]byte("\n"))
		}
	}
	if err != nil {
		w.dropped++
		w.lost.Add(1)
		w.complain(err)
		return
	}
	w.dropped = 0
}

// ready opens the file, or turns to a new one where the next line would make it too large.
func (w *Writer) ready(line int64) error {
	if w.out != nil && w.rotates && w.written > 0 && w.written+line > w.size {
		_ = w.out.Close() // each write has told already what is wrong
		w.out = nil
		for i := Older; i > 0; i-- {
			from := w.path
			if i > 1 {
				from = fmt.Sprintf("%s.%d", w.path, i-1)
			}
			if err := os.Rename(from, fmt.Sprintf("%s.%d", w.path, i)); err != nil && !errors.Is(err, os.ErrNotExist) {
				w.complain(err)
			}
		}
	}
	if w.out != nil {
		return nil
	}
	out, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil { // a pipe or a terminal may be open for writing alone
		if out, err = os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
			return err
		}
	}
	info, err := out.Stat()
	if err != nil {
		out.Close()
		return err
	}
	w.out, w.written, w.rotates = out, info.Size(), info.Mode().IsRegular()
	if !w.rotates || w.written == 0 {
		return nil
	}
	var last [1]byte
	if _, err := out.ReadAt(last[:], w.written-1); err != nil && err != io.EOF || last[0] == '\n' {
		return nil
	}
	_, err = out.Write([]byte("\n")) // whoever wrote here before went down within a line
	return err
}

func (w *Writer) complain(err error) {
	if err != nil && !w.said {
		w.said = true
		w.log.Warn("cannot write events to the file", "err", err)
	}
}
