package pid1_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestStopSignal sends gangrun a stop signal. Whatever the worker makes of it, that was a preemption and not a failure
// of the worker, whose own answer is kept beside the verdict.
func TestStopSignal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		sig    syscall.Signal
		worker []string
		code   int // gangrun's
		own    int // the worker's end, as workerEnd has it
	}{
		{"answers 0", syscall.SIGTERM, probe("log", "-on=15=0"), 143, 0},
		{"answers 1", syscall.SIGTERM, probe("log", "-on=15=1"), 143, 1},
		{"answers 200", syscall.SIGTERM, probe("log", "-on=15=200"), 143, 200},
		{"dies", syscall.SIGTERM, sh("echo worker ready 0 >&3; exec sleep 100"), 143, -15},
		{"answers 0", syscall.SIGINT, probe("log", "-on=2=0"), 130, 0},
		{"answers 3", syscall.SIGINT, probe("log", "-on=2=3"), 130, 3},
		{"dies", syscall.SIGINT, sh("echo worker ready 0 >&3; exec sleep 100"), 130, -2},
	}
	for _, tt := range tests {
		t.Run(tt.sig.String()+" "+tt.name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				for _, restarts := range []bool{false, true} {
					j := launch{mode: m, restarts: restarts, worker: tt.worker}.start(t)
					j.ready("worker")
					j.signal(tt.sig)
					j.exits(tt.code)
					j.gone()
					msg := j.message()
					if msg.Verdict != exitcodes.Preempted || msg.ExitCode != tt.code || msg.Reason != "Preempted" {
						t.Errorf("message says %s %s, exit code %d", msg.Verdict, msg.Reason, msg.ExitCode)
					}
					if own := workerEnd(msg); own != tt.own {
						t.Errorf("message says the worker ended with %d, want %d", own, tt.own)
					}
				}
			})
		})
	}
}

// workerEnd is how the worker ended according to the message: its exit code, or the number of the signal, negative.
func workerEnd(msg exitcodes.Message) int {
	if msg.WorkerExitCode != nil {
		return *msg.WorkerExitCode
	}
	return -int(unix.SignalNum(msg.Signal))
}

// TestStopVerdictWorker is the plain init's view: the worker's answer is the answer.
func TestStopVerdictWorker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		worker []string
		code   int
	}{
		{"0", probe("log", "-on=15=0"), 0},
		{"1", probe("log", "-on=15=1"), 1},
		{"200", probe("log", "-on=15=200"), 200},
		{"dies", sh("echo worker ready 0 >&3; exec sleep 100"), 143},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				j := launch{mode: m, flags: []string{"--stop-verdict=worker"}, worker: tt.worker}.start(t)
				j.ready("worker")
				j.signal(syscall.SIGTERM)
				j.exits(tt.code)
			})
		})
	}
}

// TestPassedOn sends signals that are the worker's business alone: if it dies of one, that is how it ended; if it goes
// on, so does gangrun, and its answer to something else counts.
func TestPassedOn(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGSEGV, syscall.SIGABRT, 36,
	} {
		t.Run(sig.String(), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				j := launch{mode: m, worker: sh("ulimit -c 0; echo worker ready 0 >&3; exec sleep 100")}.start(t)
				j.ready("worker")
				j.signal(sig)
				j.exits(128 + int(sig))

				j = launch{mode: m, worker: probe("log", "-on=40=5")}.start(t)
				j.ready("worker")
				j.signal(sig)
				j.expect(fmt.Sprint("worker ", int(sig)))
				j.signal(40)
				j.exits(5)
			})
		})
	}
}

// TestHangupAndQuit may mean the end or may not: a new log file, a dump of all stacks. The worker decides. If it ends
// of it, it was stopped from outside; if not, nothing has happened.
func TestHangupAndQuit(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				j := launch{
					mode: m, restarts: true, worker: sh("ulimit -c 0; echo worker ready 0 >&3; exec sleep 100"),
				}.start(t)
				j.ready("worker")
				j.signal(sig)
				j.exits(128 + int(sig))
				if msg := j.message(); msg.Verdict != exitcodes.Preempted {
					t.Errorf("verdict %s", msg.Verdict)
				}

				// torchrun answers 1 to these, as to any other stop.
				j = launch{mode: m, restarts: true, worker: probe("log", fmt.Sprintf("-on=%d=1", sig))}.start(t)
				j.ready("worker")
				j.signal(sig)
				j.exits(128 + int(sig))

				j = launch{mode: m, worker: probe("log", "-on=10=0")}.start(t)
				j.ready("worker")
				for range 3 {
					j.signal(sig)
					j.expect(fmt.Sprint("worker ", int(sig)))
				}
				j.signal(syscall.SIGUSR1)
				j.exits(0)
			})
		})
	}
}

// TestGrace stops a worker that does not want to stop, and with it what it has moved out of its process group.
func TestGrace(t *testing.T) {
	const grace = 300 * time.Millisecond
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{
			mode: m, flags: []string{"--grace=" + grace.String()},
			worker: probe("log", "-child=-name=child", "-session=-name=away"),
		}.start(t)
		j.ready("child")
		j.ready("away")
		j.ready("worker")
		began := time.Now()
		j.signal(syscall.SIGTERM)
		j.expect("worker 15")
		j.exits(143)
		if took := time.Since(began); took < grace {
			t.Errorf("the worker had %v of its %v", took, grace)
		}
		j.gone()
		msg := j.message()
		if msg.Verdict != exitcodes.Preempted {
			t.Errorf("verdict %s", msg.Verdict)
		}
		if own := workerEnd(msg); own != -9 {
			t.Errorf("message says the worker ended with %d", own)
		}
	})
}

// TestGraceIsEnough gives the worker all of its grace when it needs it, and does not wait longer than the worker does.
func TestGraceIsEnough(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{
			mode: m, flags: []string{"--grace=1h", "--stop-verdict=worker"},
			worker: probe("log", "-on=15=6", "-linger=1200ms"),
		}.start(t)
		j.ready("worker")
		j.signal(syscall.SIGTERM)
		j.expect("worker 15", "worker done")
		j.exits(6)
	})
}

// TestSecondInterrupt is the user at the keyboard who has lost patience.
func TestSecondInterrupt(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{mode: m, flags: []string{"--grace=1h"}, worker: probe("log", "-session=-name=away")}.start(t)
		j.ready("away")
		j.ready("worker")
		j.signal(syscall.SIGINT)
		j.expect("worker 2")
		j.signal(syscall.SIGINT)
		j.exits(130)
		j.gone()
	})
}

// TestRepeatedTerm passes every SIGTERM on, and does not take the second for impatience: a drain may well send more
// than one.
func TestRepeatedTerm(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{mode: m, flags: []string{"--grace=1h"}, worker: probe("log", "-on=10=0")}.start(t)
		j.ready("worker")
		for range 3 {
			j.signal(syscall.SIGTERM)
			j.expect("worker 15")
		}
		j.signal(syscall.SIGUSR1)
		j.exits(143)
	})
}

// TestWorkerBeforeItsChildren is a training loop that, told to stop, still needs its data loaders to write a
// checkpoint: they hear of the stop when the worker is gone, not before.
func TestWorkerBeforeItsChildren(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{
			mode: m, worker: probe("log", "-child=-name=loader -on=15=0", "-on=15=0", "-linger=200ms"),
		}.start(t)
		j.ready("loader")
		j.ready("worker")
		j.signal(syscall.SIGTERM)
		j.expect("worker 15", "worker done", "loader 15", "loader done")
		j.exits(143)
		j.gone()
	})
}

// TestStopBetweenRestarts stops gangrun while no worker runs: it waits before its second restart.
func TestStopBetweenRestarts(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{
			mode: m, restarts: true, flags: []string{"--restart-backoff=1h", "--max-restarts=5"},
			worker: sh("echo started >&3; exit 129"),
		}.start(t)
		j.expect("started", "started")
		harness.Eventually(t, limit, "the second worker is reaped", func() bool { return len(childrenOf(j.pid())) == 0 })
		j.signal(syscall.SIGTERM)
		j.exits(143)
		if msg := j.message(); msg.Verdict != exitcodes.Preempted {
			t.Errorf("verdict %s", msg.Verdict)
		}
	})
}
