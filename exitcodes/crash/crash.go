// Package crash makes a panic in any goroutine an end that an operator can read. The Go runtime ends a program that
// panics with exit code 2, which says that the command line was wrong and is fatal for reasons that nobody meant.
package crash

import (
	"runtime/debug"
	"sync/atomic"
)

var handler atomic.Pointer[func(value any, stack []byte)]

// Handle sets what is done about a panic in a goroutine that Go has started. It runs in that goroutine, and must end the
// program; where it returns, or none is set, the panic goes on.
func Handle(f func(value any, stack []byte)) { handler.Store(&f) }

// Go runs f in a goroutine of its own.
func Go(f func()) { go Guard(f)() }

// Guard is f for a goroutine that somebody else starts, such as a sync.WaitGroup.
func Guard(f func()) func() {
	return func() {
		defer func() {
			if value := recover(); value != nil {
				if h := handler.Load(); h != nil {
					(*h)(value, debug.Stack())
				}
				panic(value)
			}
		}()
		f()
	}
}
