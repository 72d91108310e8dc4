package pid1_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestSignalStorm sends random signals from before the first fork until after gangrun's end. Before the worker has
// its handlers only those come that kill nobody; after that all that can be forwarded, except those that mean stop, or
// may mean it. The worker takes five hundred, exits with 7, and 7 it is.
func TestSignalStorm(t *testing.T) {
	t.Parallel()
	mild := []syscall.Signal{syscall.SIGCONT, syscall.SIGWINCH, syscall.SIGCHLD, syscall.SIGURG}
	wild := slices.DeleteFunc(append(forwardable(), mild...), func(sig syscall.Signal) bool {
		return sig == syscall.SIGTERM || sig == syscall.SIGHUP || sig == syscall.SIGQUIT || isJobStop(sig)
	})
	for _, scope := range []string{"worker", "group"} {
		t.Run(scope, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				for range 3 {
					j := gated(t, launch{
						mode: m, flags: []string{"--signal-scope=" + scope}, worker: probe("log", "-count=500"),
					})
					end := storm(t, j.pid(), mild)
					j.open()
					j.ready("worker")
					end()
					end = storm(t, j.pid(), wild)
					j.exits(7)
					end()
					j.gone()
				}
			})
		})
	}
}

// storm sends random signals to a process until it is told to end, or the test ends.
func storm(t testing.TB, pid int, sigs []syscall.Signal) (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				syscall.Kill(pid, sigs[rand.IntN(len(sigs))])
				pause(rand.N(50 * time.Microsecond))
			}
		}
	}()
	end = sync.OnceFunc(func() {
		close(stop)
		<-done
	})
	t.Cleanup(end)
	return end
}

// pause lets time pass more exactly than the scheduler would.
func pause(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}
