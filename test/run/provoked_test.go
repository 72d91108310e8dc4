package run_test

import (
	"path/filepath"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestProvoked makes real programs fail under gangrun: a sample of what exitcodes/testdata/provoked has recorded.
func TestProvoked(t *testing.T) {
	program, err := filepath.Abs("../peers/provoke/programs/field.py")
	if err != nil {
		t.Fatal(err)
	}
	const plain = "/usr/bin/python3"
	for _, tt := range []struct {
		python, before, name, after string
		verdict                     exitcodes.Verdict
		code                        int
	}{
		{plain, "import", "urllib_reset", "del", exitcodes.Retry, 210},
		{plain, "file", "urllib_503", "atexit", exitcodes.Retry, 210},
		{plain, "retry", "urllib_401", "thread", exitcodes.Fatal, 1},
		{plain, "import", "chain_cache_then_reset", "none", exitcodes.Retry, 210},
		{plain, "retry", "chain_reset_then_bug", "del", exitcodes.Fatal, 1},
		{plain, "sample", "task_group", "none", exitcodes.Retry, 210},
		{plain, "import", "abort", "none", exitcodes.Retry, 134},
		{plain, "oom", "argparse_error", "none", exitcodes.Fatal, 2},
		{"torch/bin/python3", "import", "store_wait", "none", exitcodes.Retry, 210},
		{"torch/bin/python3", "sample", "spawn_killed", "none", exitcodes.Retry, 210},
		{"torch/bin/python3", "retry", "torch_shapes", "del", exitcodes.Fatal, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			python := tt.python
			if python != plain {
				python = harness.Peer(t, python)
			}
			e := harness.Job{Flags: []string{"--no-restart"}, Worker: []string{python, program, tt.before, tt.name, tt.after}}.Run(t, limit)
			if e.Message.Verdict != tt.verdict || e.Code != tt.code {
				t.Errorf("%s %d: %s", e.Message.Verdict, e.Code, e.Message.Message)
			}
		})
	}
}
