package pid1_test

import (
	"bufio"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestEarlyTerm sends SIGTERM at growing distances from the exec, where every init has a moment of weakness. As an
// ordinary process gangrun always exits with 143, be it the kernel's doing.
//
// As PID 1 it is another matter before gangrun listens. The kernel drops a signal that the first process of a namespace
// has no handler for, which is every init's fate, tini's as well; and once the Go runtime has installed its handlers
// but nobody has asked for the signal, the runtime tries to die of it, which the kernel does not let PID 1 do, and
// exits with 2. This window cannot be closed from inside. TestTermDuringInit makes sure that it ends as early as a Go
// program can have it; here it only must not have any other consequence.
func TestEarlyTerm(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		var dropped, died, kept int
		for delay := time.Duration(0); delay <= 5*time.Millisecond; delay += 200 * time.Microsecond {
			code := earlyTerm(t, m, delay)
			switch {
			case code == 143:
				kept++
			case code == 0 && m == asPID1:
				dropped++
			case code == 2 && m == asPID1:
				died++
			default:
				t.Errorf("%v after the exec: exit code %d", delay, code)
			}
		}
		t.Logf("%d dropped, %d ended with 2, %d kept", dropped, died, kept)
	})
}

// earlyTerm sends SIGTERM a while after the exec and returns gangrun's exit code. As PID 1 that is 0 when the SIGTERM
// was dropped: then gangrun starts the worker, and what ends that is the SIGCONT that it gets next. SIGCONT has the
// higher number, so no queue delivers it before the SIGTERM.
func earlyTerm(t *testing.T, m mode, delay time.Duration) int {
	t.Helper()
	j := gated(t, launch{mode: m, worker: probe("log", "-on=15=0", "-on=18=0")})
	j.open()
	pause(delay)
	j.signal(syscall.SIGTERM)
	if _, err := j.next(limit); err == nil && m == asPID1 { // ready
		syscall.Kill(j.pid(), syscall.SIGCONT) // gone already, perhaps
	}
	return j.wait()
}

// TestTermDuringInit sends SIGTERM while the packages of the program are still being initialised, which the runtime
// can be asked to report: after os/signal is ready and one more package is, be it which it may, nothing is lost.
func TestTermDuringInit(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		for range 10 {
			trace, stderr := pipe(t)
			j := launch{
				mode: m, stderr: stderr, env: []string{"GODEBUG=inittrace=1"}, worker: probe("log", "-on=18=0"),
			}.start(t)
			stderr.Close()
			lines := bufio.NewScanner(trace)
			for lines.Scan() && !strings.HasPrefix(lines.Text(), "init os/signal ") {
			}
			lines.Scan()
			j.signal(syscall.SIGTERM)
			go func() {
				for lines.Scan() {
				}
			}()
			if _, err := j.next(limit); err == nil { // ready
				syscall.Kill(j.pid(), syscall.SIGCONT)
			}
			j.exits(143)
		}
	})
}
