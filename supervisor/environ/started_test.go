package environ

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestStarted(t *testing.T) {
	c := exec.Command("cat")
	c.Env = []string{"A=1", "B=" + strings.Repeat("x", 100_000)}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	// Right at its exec, which is all that Start waits for, a process has neither: once cat answers, it is over.
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"environ": strings.Join(c.Env, "\x00") + "\x00", "cmdline": "cat\x00"} {
		if got, err := Started(fmt.Sprintf("/proc/%d/%s", c.Process.Pid, file)); string(got) != want || err != nil {
			t.Errorf("%s: %d bytes, want %d; %v", file, len(got), len(want), err)
		}
	}
}

// TestStartedIsBounded: a process says that a terabyte is its environment.
func TestStartedIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "environ")
	if err := os.WriteFile(file, []byte("A=1\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<40); err != nil {
		t.Fatal(err)
	}
	if got, err := Started(file); len(got) != mostStarted || !strings.HasPrefix(string(got), "A=1\x00") || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
