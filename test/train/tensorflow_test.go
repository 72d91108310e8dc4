package train_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// workers starts a TensorFlow gang of two on this machine, each worker under its own gangrun.
func workers(t *testing.T, flags []string, args ...string) [2]*harness.Running {
	t.Helper()
	addresses := make([]string, 2)
	for i := range addresses {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // both are held until both are known
		addresses[i] = fmt.Sprintf("%q", l.Addr())
	}
	var started [2]*harness.Running
	for i := range started {
		config := fmt.Sprintf(`TF_CONFIG={"cluster":{"worker":[%s]},"task":{"type":"worker","index":%d}}`, strings.Join(addresses, ","), i)
		started[i] = harness.Job{Flags: append([]string{"--node", fmt.Sprint("worker-", i)}, flags...), Env: append([]string{config}, one...),
			Worker: tensorflow(t, args...)}.Start(t, limit)
	}
	return started
}

func tensorflow(t *testing.T, args ...string) []string {
	t.Helper()
	return append([]string{harness.Peer(t, "tensorflow/bin/python3"), trainer("tf_mwms.py")}, args...)
}

// TestTensorFlowWorkerDies kills one of two. Both ends are worth a retry: the one that was killed, and the one that
// exits with 1 because the other is gone.
func TestTensorFlowWorkerDies(t *testing.T) {
	parallel(t)
	both := workers(t, []string{"--no-restart"}, "--steps", "1000", "--die-at", "10")
	killed, survivor := both[1].End(), both[0].End()
	killed.Want(t, 137, exitcodes.Retry, "KilledBySIGKILL")
	survivor.Want(t, 210, exitcodes.Retry, "RetryableByRule")
	if c := survivor.RootCause; c.Reason != "PeerLost" || c.Rule == "" || *survivor.WorkerExitCode != 1 {
		t.Errorf("%s", survivor.Raw)
	}
}

// TestTensorFlowResumes kills one of two once. Each gangrun restarts its own, they find each other again, and the loss
// at the end is that of a run without interruption.
func TestTensorFlowResumes(t *testing.T) {
	parallel(t)
	dir := t.TempDir()
	whole := workers(t, nil, "--steps", "30", "--checkpoint-every", "10")
	want := finalLoss(t, whole[0].End().Stdout)
	whole[1].End()
	both := workers(t, []string{"--max-restarts", "5"}, "--steps", "30", "--checkpoint-every", "10", "--checkpoint-dir", filepath.Join(dir, "c"),
		"--die-at", "25", "--die-once", filepath.Join(dir, "once"))
	for i, r := range both {
		e := r.End()
		e.Want(t, 0, exitcodes.Success, "Succeeded")
		if *e.Round == 0 {
			t.Errorf("worker %d was not restarted", i)
		}
		if i > 0 {
			continue
		}
		if got := finalLoss(t, e.Stdout); got != want {
			t.Errorf("%q, and uninterrupted %q", got, want)
		}
		if !strings.Contains(e.Stdout, "resumed from step 20") {
			t.Errorf("did not resume:\n%s", e.Stdout)
		}
	}
}

// TestTensorFlowSwallowsSIGTERM is a worker that hears SIGTERM and goes on, as TensorFlow's own handler has it under
// this strategy. The grace ends in SIGKILL, and that is still the stop that was asked for, not a failure.
func TestTensorFlowSwallowsSIGTERM(t *testing.T) {
	parallel(t)
	both := workers(t, []string{"--grace", "1s"}, "--steps", "1000000", "--step-time", "0.01")
	both[0].Await("step 10 ")
	both[1].Signal(syscall.SIGTERM)
	both[0].Signal(syscall.SIGTERM)
	for _, r := range both {
		e := r.End()
		e.Want(t, 143, exitcodes.Preempted, "Preempted")
		if e.Signal != "SIGKILL" || !strings.Contains(e.Stderr, "did not stop in time") {
			t.Errorf("it was not the grace that ended it: %s\n%s", e.Raw, e.Stderr)
		}
	}
}
