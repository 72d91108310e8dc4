package train_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestCallbacks stops training runs of Lightning and of transformers' Trainer that have the callbacks of examples/save: each saves
// at the step that it was told, and leaves. Without gangrun they train to their end.
func TestCallbacks(t *testing.T) {
	for name, checkpoint := range map[string]string{"stop_lightning.py": "step=%.ckpt", "stop_trainer.py": "checkpoint-%/trainer_state.json"} {
		t.Run(name, func(t *testing.T) {
			parallel(t)
			dir := t.TempDir()
			env := append([]string{"PYTHONPATH=" + harness.Peer(t, "savers"), "PYTHONDONTWRITEBYTECODE=1"}, one...)
			command := []string{harness.Peer(t, "torch/bin/python3"), harness.Script(t, name), filepath.Join(harness.Root(), "examples"), dir}
			r := harness.Job{Env: env, Worker: append(command, "10000")}.Start(t, limit)
			r.Await("three steps")
			r.Signal(syscall.SIGTERM)
			e := r.End()
			e.Want(t, 143, exitcodes.Preempted, "Preempted")
			m := regexp.MustCompile(`(?m)^ends at step (\d+)$`).FindStringSubmatch(e.Stdout)
			if m == nil || !strings.HasSuffix(e.Message.Message, "; all ranks here have saved at step "+m[1]+", as agreed") {
				t.Fatalf("%s\n%s\n%s", e.Raw, e.Stdout, e.Stderr)
			}
			if _, err := os.Stat(filepath.Join(dir, strings.ReplaceAll(checkpoint, "%", m[1]))); err != nil || strings.Contains(e.Stdout, "validates") {
				t.Errorf("%v\n%s", err, e.Stdout)
			}
			res := harness.Run(t, limit, env, append(command, "6")...)
			if res.Code != 0 || !strings.Contains(res.Stdout, "ends at step 6") {
				t.Errorf("without gangrun: exit code %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
			}
		})
	}
}
