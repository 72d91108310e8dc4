package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/test/harness"
)

// stateless is a loop in plain Python: its state is a pickle, and it is killed once after its second save.
const stateless = `
import os, pickle, signal, sys
directory, journal = sys.argv[1:3]
path = os.environ["GANGRUN_RESUME_PATH"]
step = pickle.load(open(path, "rb"))["step"] if path else 0
first = not os.path.exists(journal)
print(step, file=open(journal, "a"))
while step < 400:
    step += 100
    if first and step == 300:
        os.kill(os.getpid(), signal.SIGKILL)
    os.makedirs(directory, exist_ok=True)
    with open(f"{directory}/ckpt_{step}.pkl", "wb") as f:
        pickle.dump({"step": step, "optimizer": {"m": [0.5]}}, f)
`

// TestDirectory runs a loop over directories as they are found: with a base model, an adapter and data in it, with a
// state that cannot be resumed from, and one that is not there.
func TestDirectory(t *testing.T) {
	python := harness.Program(t, "python3", "install it")
	weights := filetest.Safetensors(3, 8, 0)
	base := map[string][]byte{"model.safetensors": weights, "config.json": []byte("{}"), "adapter_model.safetensors": weights,
		"data.bin": []byte("tokens and tokens and tokens")}
	trainer := map[string][]byte{"checkpoint-7/trainer_state.json": []byte(`{"global_step": 7}`), "checkpoint-7/model.safetensors": weights}
	for _, tt := range []struct {
		name  string
		has   map[string][]byte
		flags []string
		typo  bool
		code  int
		steps string // that the loop began at
		says  []string
	}{
		{"a base model, an adapter and data", base, nil, false, 0, "0 200", []string{"starting fresh", "resuming from checkpoint"}},
		{"nothing", nil, nil, false, 0, "0 200", []string{"the directory is empty", "resuming from checkpoint"}},
		{"a mistyped name", nil, nil, true, 0, "0 0", []string{"there is no such directory", "starting fresh"}},
		{"a state without its optimizer", trainer, nil, false, 65, "", []string{"checkpoint-7", "--checkpoint-ignore"}},
		{"the same, ignored", trainer, []string{"--checkpoint-ignore", "checkpoint-7"}, false, 0, "0 200", []string{"resuming from checkpoint"}},
		{"the same, left to the script", trainer, []string{"--resume", "own"}, false, 0, "0 200", nil},
		{"the same, never required", trainer, []string{"--checkpoint-require", "never"}, false, 0, "0 200", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, journal := filepath.Join(t.TempDir(), "saved"), filepath.Join(t.TempDir(), "journal")
			for name, data := range tt.has {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			given := dir
			if tt.typo {
				given += "s"
			}
			argv := append([]string{harness.Binary(t), "run", "--max-restarts", "2", "--checkpoint-dir", given}, tt.flags...)
			r := harness.Run(t, limit, nil, append(argv, "--", python, "-c", stateless, dir, journal)...)
			text, _ := os.ReadFile(journal)
			if got := strings.Join(strings.Fields(string(text)), " "); r.Code != tt.code || got != tt.steps {
				t.Errorf("exit code %d, it began at %q; want %d, %q\n%s\n%s", r.Code, got, tt.code, tt.steps, r.Stderr, tree(dir))
			}
			for _, part := range tt.says {
				if !strings.Contains(r.Stderr, part) {
					t.Errorf("it does not say %q:\n%s", part, r.Stderr)
				}
			}
		})
	}
}
