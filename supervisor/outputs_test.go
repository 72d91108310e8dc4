package supervisor

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoPipe has a process that may open no more files after a worker's log: the log is closed, too.
func TestNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stdout.log")
	r, w, err := os.Pipe() // Go's own poller needs files, and cannot do without
	if err != nil {
		t.Fatal(err)
	}
	free := int(r.Fd())
	r.Close()
	defer w.Close()
	var limit unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	one := unix.Rlimit{Cur: uint64(free) + 1, Max: limit.Max}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &one, nil); err != nil {
		t.Fatal(err)
	}
	s := &Supervisor{log: slog.New(slog.DiscardHandler)}
	_, err = s.outputOf(&worker{}, Sink{File: path}, 1, filtered{})
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	if _, made := os.Stat(path); err == nil || made != nil {
		t.Fatalf("%v, the log: %v", err, made)
	}
	if open, _ := os.Readlink(fmt.Sprint("/proc/self/fd/", free)); open == path {
		t.Error("the log is still open")
	}
}
