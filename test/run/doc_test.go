// Package run_test runs gangrun as its users do, with shells and small scripts as the workers: what code it exits
// with, what it restarts, what it leaves behind, what it says about a mistake.
package run_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

func TestMain(m *testing.M) {
	etcdserver.Main()
	harness.Parallel(2 * runtime.GOMAXPROCS(0)) // the tests wait more than they work
	os.Exit(m.Run())
}

// limit is far more than anything here takes.
const limit = 60 * time.Second

// write makes a file for a test and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns what is in a file.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
