// Package latest writes the newest of a series of values somewhere slow, such as a file server, without its owner ever
// waiting: a value that is outdated before its turn is never written.
package latest

import (
	"time"

	"github.com/gangrun/gangrun/internal/task"
)

// Writer writes values in a goroutine of its own. Any may give it values, until it is closed.
type Writer[T any] struct {
	newest chan T
	work   task.Task
}

// NewWriter begins to write by write. The first error is given to failed; later ones are the same to a reader.
func NewWriter[T any](write func(T) error, failed func(error)) *Writer[T] {
	w := &Writer[T]{newest: make(chan T, 1)}
	w.work = task.Begin(func() {
		said := false
		for v := range w.newest {
			if err := write(v); err != nil && !said {
				said = true
				failed(err)
			}
		}
	})
	return w
}

// Put has v written in place of a value that still waits. It never waits itself.
func (w *Writer[T]) Put(v T) {
	for {
		select {
		case w.newest <- v:
			return
		default:
		}
		select {
		case <-w.newest: // outdated
		default:
		}
	}
}

// Offer has v written unless another value waits.
func (w *Writer[T]) Offer(v T) {
	select {
	case w.newest <- v:
	default:
	}
}

// Close reports whether the last value was written, or failed, within limit. Nothing can be put after it.
func (w *Writer[T]) Close(limit time.Duration) bool {
	close(w.newest)
	return w.work.EndsWithin(limit)
}
