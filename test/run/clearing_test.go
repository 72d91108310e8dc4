package run_test

import (
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestStopWhileClearing sends SIGTERM after a worker has failed for good, while what it left behind is being removed:
// the verdict is known by then, and the record of it stays.
func TestStopWhileClearing(t *testing.T) {
	t.Parallel()
	job := harness.Job{Worker: harness.Shell(`(trap "" TERM; while :; do sleep 1; done) & exit 3`)}
	r := job.Start(t, limit)
	r.Await("left processes behind")
	r.Signal(syscall.SIGTERM)
	r.Await("stopping")
	if m := harness.Message(t, r.Log); m.Verdict != exitcodes.Fatal || m.ExitCode != 3 {
		t.Errorf("the record while it stops: %s, %d", m.Verdict, m.ExitCode)
	}
	r.End().Want(t, 3, exitcodes.Fatal, "Error")
}
