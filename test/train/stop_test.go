package train_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestTorchIsStopped asks a training run to stop, as a drained node does: preempted, although torchrun answers with 1.
func TestTorchIsStopped(t *testing.T) {
	parallel(t)
	r := harness.Job{Env: one, Worker: torchrun(t, "2", trainer("torch_ddp.py"), "--steps", "1000000", "--step-time", "0.01")}.Start(t, limit)
	r.Await("step 20 ")
	r.Signal(syscall.SIGTERM)
	e := r.End()
	e.Want(t, 143, exitcodes.Preempted, "Preempted")
	if e.WorkerExitCode == nil || *e.WorkerExitCode != 1 {
		t.Errorf("torchrun's own code is %v", e.WorkerExitCode)
	}
}

// TestDataLoaderIsSpared asks a training run to stop which then finishes its epoch and exits with 0. It can do so only
// if its data loader's processes, which a signal would end, were left alone.
func TestDataLoaderIsSpared(t *testing.T) {
	parallel(t)
	r := harness.Job{Env: one, Worker: []string{harness.Peer(t, "torch/bin/python3"), script(t, "loader.py")}}.Start(t, limit)
	r.Await("batch 3")
	r.Signal(syscall.SIGTERM)
	e := r.End()
	e.Want(t, 143, exitcodes.Preempted, "Preempted")
	if e.WorkerExitCode == nil || *e.WorkerExitCode != 0 || !strings.Contains(e.Stdout, "epoch finished, saved") {
		t.Errorf("%s\n%s", e.Stdout, e.Stderr)
	}
	if strings.Contains(e.Stderr, "left processes behind") {
		t.Errorf("the loader's processes were not ended by the loader:\n%s", e.Stderr)
	}
}
