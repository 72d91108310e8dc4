package run_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestFullOutput: a command whose output cannot be written says so, and does not succeed; a run says so once, and goes on.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for argv, want := range map[string]int{
		"explain": 74, "explain rules": 74, "explain 137": 74, "explain -o json 1": 74, "version": 74, "help": 74, "help run": 74,
		"run --help-all": 74, "completion bash": 74, "launch --print-completion bash": 74, "doctor -o json": 74,
		"run -- sh -c echo": 0, "explain no-such-thing": 64,
	} {
		cmd := exec.Command(harness.Binary(t), strings.Fields(argv)...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		_ = cmd.Run() // the code tells
		if code := cmd.ProcessState.ExitCode(); code != want || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d, want %d: %q", argv, code, want, stderr.String())
		}
		if said := strings.Contains(stderr.String(), "standard output cannot be written"); said != (want != 64) {
			t.Errorf("%s: %q", argv, stderr.String())
		}
	}
}
