package run_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestDemo runs the demonstration, which checks all that it tells.
func TestDemo(t *testing.T) {
	t.Parallel()
	python := harness.Program(t, "python3", "install python3")
	res := harness.Run(t, limit, nil, python, filepath.Join(harness.Root(), "examples", "demo", "demo"), harness.Binary(t))
	if res.Code != 0 || !strings.Contains(res.Stdout, "the same final loss") {
		t.Errorf("exit code %d:\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
}
