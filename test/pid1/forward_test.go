package pid1_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/test/harness"
)

// isJobStop says whether a signal stops a process that does not handle it. Whoever forwards it may stop as well.
func isJobStop(sig syscall.Signal) bool {
	return sig == syscall.SIGTSTP || sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
}

// forwardable lists the signals that gangrun passes on. SIGKILL and SIGSTOP cannot be caught, SIGCHLD and SIGPIPE are
// gangrun's own affair; SIGPROF, SIGURG and 32 to 34 belong to the Go runtime. SIGTERM comes last, because gangrun does
// more about it than passing it on, and SIGINT, which would then end the wait, is left to other tests.
func forwardable() []syscall.Signal {
	kept := map[syscall.Signal]bool{
		syscall.SIGKILL: true, syscall.SIGSTOP: true, syscall.SIGCHLD: true, syscall.SIGPIPE: true,
		syscall.SIGPROF: true, syscall.SIGURG: true, 32: true, 33: true, 34: true,
		syscall.SIGTERM: true, syscall.SIGINT: true,
	}
	var sigs []syscall.Signal
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if !kept[sig] {
			sigs = append(sigs, sig)
		}
	}
	return append(sigs, syscall.SIGTERM)
}

// TestForwardsToWorker sends every forwardable signal. The worker gets each once, unchanged; its child, which shares
// its process group, gets none of them, only the one that the worker itself passes on in the end.
func TestForwardsToWorker(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{mode: m, worker: probe("log", "-child=-name=child", "-relay=40", "-on=64=0")}.start(t)
		j.ready("child")
		j.ready("worker")
		for _, sig := range forwardable() {
			if sig == 40 || sig == 64 {
				continue
			}
			j.signal(sig)
			j.expect(fmt.Sprint("worker ", int(sig)))
			if isJobStop(sig) {
				j.signal(syscall.SIGCONT)
				j.expect(fmt.Sprint("worker ", int(syscall.SIGCONT)))
			}
		}
		j.signal(40)
		j.expect("worker 40", "child 40")
		j.signal(64)
		j.expect("worker 64", "worker done")
	})
}

// TestKeepsItsOwnSignals checks that what is gangrun's own affair does not reach the worker.
func TestKeepsItsOwnSignals(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{mode: m, worker: probe("log", "-on=12=5")}.start(t)
		j.ready("worker")
		for _, sig := range []syscall.Signal{syscall.SIGPIPE, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPROF} {
			j.signal(sig)
		}
		j.signal(syscall.SIGWINCH)
		j.expect("worker 28")
		j.signal(syscall.SIGUSR2)
		j.expect("worker 12", "worker done")
		j.exits(5)
	})
}

// TestForwardsToGroup sends a few signals with a wider scope: the worker's process group gets them, and what has left
// it for a session of its own does not.
func TestForwardsToGroup(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"group", "session"} {
		t.Run(scope, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				j := launch{
					mode: m, flags: []string{"--signal-scope=" + scope},
					worker: probe("log", "-child=-name=child", "-session=-name=away", "-relay=40"),
				}.start(t)
				j.ready("child")
				j.ready("away")
				j.ready("worker")
				for _, sig := range []syscall.Signal{
					syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGWINCH, 35, syscall.SIGTERM,
				} {
					j.signal(sig)
					expectAnyOrder(j, fmt.Sprint("worker ", int(sig)), fmt.Sprint("child ", int(sig)))
				}
				// The worker passes this one on, so the child gets it twice or, if the two meet, once.
				j.signal(40)
				for {
					line, err := j.next(limit)
					if err != nil {
						t.Fatal(err)
					}
					if line == "away 40" {
						break
					}
					if line != "worker 40" && line != "child 40" {
						t.Fatalf("got %q", line)
					}
				}
			})
		})
	}
}

// expectAnyOrder wants each of the lines once, whichever comes first.
func expectAnyOrder(j *job, want ...string) {
	j.t.Helper()
	left := make(map[string]bool)
	for _, w := range want {
		left[w] = true
	}
	for len(left) > 0 {
		line, err := j.next(limit)
		if err != nil {
			j.t.Fatalf("waiting for %v: %v", left, err)
		}
		if !left[line] {
			j.t.Fatalf("got %q, want one of %v", line, left)
		}
		delete(left, line)
	}
}

// TestSessionScopeStops is job control as dumb-init has it: the worker leads a session, where the kernel ignores a
// SIGTSTP that nobody handles, so the group gets a SIGSTOP instead and gangrun stops itself. SIGCONT wakes them all.
func TestSessionScopeStops(t *testing.T) {
	t.Parallel()
	j := launch{
		mode: asChild, flags: []string{"--signal-scope=session"},
		worker: probe("log", "-child=-name=child", "-on=10=0"),
	}.start(t)
	child, worker := j.ready("child"), j.ready("worker")
	if sid, err := unix.Getsid(worker); err != nil || sid != worker {
		t.Errorf("the worker %d is in session %d (%v)", worker, sid, err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
		j.signal(sig)
		waitStopped(t, j.pid())
		for _, pid := range []int{worker, child} {
			harness.Eventually(t, limit, fmt.Sprintf("%d is stopped by %v", pid, sig), func() bool { return state(pid) == "T" })
		}
		j.signal(syscall.SIGCONT)
		expectAnyOrder(j, "worker 18", "child 18")
		for _, pid := range []int{j.pid(), worker, child} {
			if s := state(pid); s == "T" {
				t.Errorf("%d is still stopped after SIGCONT", pid)
			}
		}
	}
	j.signal(syscall.SIGUSR1)
	expectAnyOrder(j, "worker 10", "child 10", "worker done")
}

// TestSessionScopeStopsAsPID1 is the same where gangrun cannot stop: the kernel does not stop the first process of a
// namespace. It goes on, and wakes the others when it is told to.
func TestSessionScopeStopsAsPID1(t *testing.T) {
	t.Parallel()
	j := launch{
		mode: asPID1, flags: []string{"--signal-scope=session"}, worker: probe("log", "-on=10=0"),
	}.start(t)
	j.ready("worker")
	j.signal(syscall.SIGTSTP)
	worker := childrenOf(j.pid())[0]
	harness.Eventually(t, limit, "the worker is stopped", func() bool { return state(worker) == "T" })
	j.signal(syscall.SIGCONT)
	j.expect("worker 18")
	j.signal(syscall.SIGUSR1)
	j.expect("worker 10", "worker done")
	j.exits(0)
}

// TestSignalMap rewrites signals and drops them.
func TestSignalMap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		flags []string
		send  []syscall.Signal
		want  []int
	}{
		{[]string{"--signal-map=15:10"}, []syscall.Signal{15, 1}, []int{10, 1}},
		{[]string{"--signal-map=15:10,3:12"}, []syscall.Signal{15, 3, 1}, []int{10, 12, 1}},
		{[]string{"--signal-map=15:10", "--signal-map=3:12"}, []syscall.Signal{15, 3}, []int{10, 12}},
		{[]string{"--signal-map=10:12,12:10"}, []syscall.Signal{10, 12, 1}, []int{12, 10, 1}},
		{[]string{"--signal-map=1:31,31:1"}, []syscall.Signal{1, 31}, []int{31, 1}},
		{[]string{"--signal-map=15:0,28:0"}, []syscall.Signal{15, 28, 1}, []int{1}},
		{[]string{"--signal-map=35:36"}, []syscall.Signal{35, 1}, []int{36, 1}},
		{[]string{"--signal-map=TERM:USR1,SIGQUIT:SIGUSR2"}, []syscall.Signal{15, 3}, []int{10, 12}},
		{[]string{"--signal-map=20:1"}, []syscall.Signal{20, 18}, []int{1, 18}},
		{[]string{"--signal-map=20:1", "--signal-scope=session"}, []syscall.Signal{20, 18}, []int{1, 18}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.flags, " "), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				j := launch{mode: m, flags: tt.flags, worker: probe("log", "-on=40=0")}.start(t)
				j.ready("worker")
				for i, sig := range tt.send {
					j.signal(sig)
					if len(tt.want) == len(tt.send) {
						j.expect(fmt.Sprint("worker ", tt.want[i]))
					}
				}
				if len(tt.want) < len(tt.send) {
					for _, sig := range tt.want {
						j.expect(fmt.Sprint("worker ", sig))
					}
				}
				j.signal(40)
				j.expect("worker 40", "worker done")
			})
		})
	}
}

// TestMappedStopSignal says what a stop signal means that reaches the worker as another one, or not at all.
func TestMappedStopSignal(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{
			mode: m, flags: []string{"--signal-map=TERM:USR1", "--stop-verdict=worker"}, worker: probe("log", "-on=10=6"),
		}.start(t)
		j.ready("worker")
		j.signal(syscall.SIGTERM)
		j.expect("worker 10", "worker done")
		j.exits(6)

		j = launch{
			mode: m, flags: []string{"--signal-map=TERM:0", "--grace=1ms"}, worker: probe("log", "-on=10=6"),
		}.start(t)
		j.ready("worker")
		j.signal(syscall.SIGTERM)
		j.signal(syscall.SIGUSR1)
		j.expect("worker 10", "worker done")
		j.exits(6)
	})
}

// TestBadSignalMap refuses what cannot be meant, and starts nothing.
func TestBadSignalMap(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"15", "15:99", "NOPE:1", "15:", "9:15", "STOP:15", "34:1", ":"} {
		j := launch{mode: asChild, flags: []string{"--signal-map=" + value}, worker: sh("echo started >&3")}.start(t)
		j.exits(64)
		if lines := j.rest(); len(lines) > 0 {
			t.Errorf("--signal-map=%s started the worker", value)
		}
		if !strings.Contains(j.errors(), "signal-map") {
			t.Errorf("--signal-map=%s: the error does not name the flag: %s", value, j.errors())
		}
	}
}

// TestKilledFromWithin checks that the worker cannot end its own PID 1.
func TestKilledFromWithin(t *testing.T) {
	t.Parallel()
	launch{mode: asPID1, worker: sh("kill -KILL 1; kill -STOP 1; kill -USR1 $$; exit 3")}.start(t).exits(138)
}
