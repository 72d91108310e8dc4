package task

import (
	"errors"
	"io"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
)

// ErrLate is the error of a call that has not come back in time. Most often a file server does not answer.
var ErrLate = errors.New("no answer in time")

// Within calls f beside the caller and returns its result, or ErrLate after d. A later result is given to late, which may be
// nil; a call that never comes back costs a thread.
func Within[T any](d time.Duration, f func() (T, error), late func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	results := make(chan result)
	gaveUp := make(chan struct{})
	crash.Go(func() {
		value, err := f()
		select {
		case results <- result{value, err}:
		case <-gaveUp:
			if err == nil && late != nil {
				late(value)
			}
		}
	})
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case r := <-results:
		return r.value, r.err
	case <-timer.C:
		close(gaveUp)
		var none T
		return none, ErrLate
	}
}

// CloseLate closes what was opened too late to be of use.
func CloseLate[T io.Closer](v T) { _ = v.Close() }
