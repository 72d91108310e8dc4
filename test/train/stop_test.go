package train_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
	r := harness.Job{Env: one, Worker: []string{harness.Peer(t, "torch/bin/python3"), harness.Script(t, "loader.py")}}.Start(t, limit)
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

// TestStopUnheard: a rank whose supervisor is gone, or does not listen, trains on, and saves where the file says so.
func TestStopUnheard(t *testing.T) {
	parallel(t)
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples", "save"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "stop")
	if err := os.WriteFile(file, []byte("7"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" + examples,
		"GANGRUN_STOP_FILE=" + file, "NOTIFY_SOCKET=" + file + ".none",
	}
	r := harness.Run(t, time.Minute, env, "python3", "-c", "from stop import stops_at; print(stops_at(6), stops_at(7))")
	if r.Code != 0 || r.Stdout != "False True\n" {
		t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}
