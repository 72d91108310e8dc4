package train_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestTorchResumes kills a rank once. The restarted gang resumes from its checkpoint and ends with the same loss, digit
// for digit, as one that was never interrupted. Data loaders with processes of their own are in it too.
func TestTorchResumes(t *testing.T) {
	parallel(t)
	dir := t.TempDir()
	train := func(args ...string) harness.Ended {
		args = append([]string{"--steps", "50", "--workers", "1"}, args...)
		e := harness.Job{Flags: []string{"--restart-backoff", "1ms:1ms"}, Env: one,
			Worker: torchrun(t, "2", trainer("torch_ddp.py"), args...)}.Run(t, limit)
		e.Want(t, 0, exitcodes.Success, "Succeeded")
		return e
	}
	whole := train()
	killed := train("--checkpoint-dir", filepath.Join(dir, "checkpoints"), "--die-at", "30", "--die-once", filepath.Join(dir, "once"))
	if got, want := finalLoss(t, killed.Stdout), finalLoss(t, whole.Stdout); got != want {
		t.Errorf("%q, and uninterrupted %q", got, want)
	}
	for text, n := range map[string]int{"starting from step 0": 1, "resumed from step 20": 1} {
		if strings.Count(killed.Stdout, text) != n {
			t.Errorf("%q is not there %d times:\n%s", text, n, killed.Stdout)
		}
	}
	if *killed.Round != 1 || killed.Restarts.Used != 1 || killed.RecoverySeconds == 0 {
		t.Errorf("%s", killed.Raw)
	}
}
