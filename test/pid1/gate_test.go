package pid1_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// gatedJob is a gangrun that is still to be exec'd: the process is there, and has a pid.
type gatedJob struct {
	*job
	fifo *os.File
	key  *os.File
}

// gated starts a process that becomes gangrun when it is let through by open.
func gated(t testing.TB, l launch) *gatedJob {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, key, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	t.Cleanup(func() { key.Close() })
	l.before = append(probe("gate", path), l.before...)
	l.stdin = lock
	g := &gatedJob{job: l.start(t), key: key}
	if g.fifo, err = os.Open(path); err != nil { // returns when the process is there
		t.Fatal(err)
	}
	t.Cleanup(func() { g.fifo.Close() })
	g.pid()
	return g
}

// open lets the process become gangrun and returns in the moment of the exec.
func (g *gatedJob) open() {
	g.t.Helper()
	if _, err := g.key.Write([]byte{'\n'}); err != nil {
		g.t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, g.fifo); err != nil {
		g.t.Fatal(err)
	}
}
