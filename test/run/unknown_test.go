package run_test

import (
	"path/filepath"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestUnknown is a worker that fails once of something that no rule knows, and does well the next time: whether there is a
// next time is for --unknown to say. What a rule knows is nobody's to say, and neither is a code of 128 and above.
func TestUnknown(t *testing.T) {
	const (
		why     = "the worker exited 3: ArenaError: the moon is full"
		strange = `printf 'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n    f()\nArenaError: the moon is full\n' >&2; exit 3`
		known   = `printf 'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n    f()\nKeyError: 1\n' >&2; exit 1`
	)
	step := harness.Program(t, "python3", "install python3") + ` -c 'import os, socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"X_GANGRUN_STEP=7", os.environ["NOTIFY_SOCKET"])'; `
	for _, tt := range []struct {
		name    string
		flags   []string
		how     string
		code    int
		verdict exitcodes.Verdict
		reason  string
		says    string
		starts  int
	}{
		{"by itself", nil, strange, 3, exitcodes.Fatal, "Error", why + "; no rule explains it", 1},
		{"fatal", []string{"--unknown", "fatal"}, strange, 3, exitcodes.Fatal, "Error", why + "; no rule explains it", 1},
		{"retry", []string{"--unknown", "retry"}, strange, 0, exitcodes.Success, "Succeeded", "", 2},
		{"retry, and no restart is left", []string{"--unknown", "retry", "--no-restart"}, strange, 210, exitcodes.Retry, "RetryableByRule",
			why + "; no rule explains it, and what is unknown is retried", 1},
		{"after progress, and none was made", []string{"--unknown", "retry-after-progress"}, strange, 3, exitcodes.Fatal, "Error", why + "; no rule explains it", 1},
		{"after progress", []string{"--unknown", "retry-after-progress"}, step + strange, 0, exitcodes.Success, "Succeeded", "", 2},
		{"after progress, and no restart is left", []string{"--unknown", "retry-after-progress", "--no-restart"}, step + strange, 210, exitcodes.Retry,
			"RetryableByRule", why + "; no rule explains it, and what is unknown is retried after progress", 1},
		{"nothing was said", []string{"--unknown", "retry", "--no-restart"}, "exit 7", 210, exitcodes.Retry, "RetryableByRule",
			"the worker exited 7; no rule explains it, and what is unknown is retried", 1},
		{"a rule knows it", []string{"--unknown", "retry"}, known, 1, exitcodes.Fatal, "CodeError", "the worker exited 1: KeyError: 1", 1},
		{"a code that says retry", []string{"--unknown", "fatal"}, "exit 200", 0, exitcodes.Success, "Succeeded", "", 2},
		{"a command that is not there", []string{"--unknown", "retry"}, "exit 127", 127, exitcodes.Fatal, "NotFound", "the worker exited 127", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			count := filepath.Join(t.TempDir(), "count")
			e := harness.Job{Flags: append([]string{quick}, tt.flags...), Worker: failing(count, 1, tt.how)}.Run(t, limit)
			e.Want(t, tt.code, tt.verdict, tt.reason)
			if n := starts(t, count); n != tt.starts {
				t.Errorf("%d starts, want %d", n, tt.starts)
			}
			if tt.says != "" && e.Message.Message != tt.says {
				t.Errorf("it says %q, want %q", e.Message.Message, tt.says)
			}
		})
	}
}
