// Package task is work beside its owner, who may wait for its end, though not for ever.
package task

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
)

// Task is closed when the work is done.
type Task <-chan struct{}

// Begin begins work in a goroutine of its own.
func Begin(work func()) Task {
	done := make(chan struct{})
	crash.Go(func() {
		defer close(done)
		work()
	})
	return done
}

// Repeat has show called again and again, until stop is called, which calls over and waits for that.
func Repeat(pause time.Duration, show func(now time.Time), over func()) (stop func()) {
	end := make(chan struct{})
	t := Begin(func() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			select {
			case <-end:
				over()
				return
			case now := <-tick.C:
				show(now)
			}
		}
	})
	return func() { close(end); <-t }
}

// EndsWithin waits for the end for no longer than limit, and reports whether it came.
func (t Task) EndsWithin(limit time.Duration) bool {
	select {
	case <-t:
		return true
	case <-time.After(limit):
		return false
	}
}
