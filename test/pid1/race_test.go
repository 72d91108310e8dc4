package pid1_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// TestTermBetweenForkAndGroup sends SIGTERM while the worker's process exists but has not entered its own process
// group, or session, yet. A signal to a group that is not there goes nowhere, so this is where dumb-init and tini -g
// lose it. strace holds the process there.
func TestTermBetweenForkAndGroup(t *testing.T) {
	t.Parallel()
	strace := harness.Program(t, "strace", "install strace")
	tests := []struct{ scope, call string }{
		{"worker", "setpgid"},
		{"group", "setpgid"},
		{"session", "setsid"},
	}
	for _, tt := range tests {
		t.Run(tt.scope, func(t *testing.T) {
			t.Parallel()
			trace, traced, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer trace.Close()
			defer traced.Close()
			j := launch{
				mode: asChild, extra: []*os.File{traced},
				before: []string{
					strace, "-f", "-q", "-o", "/dev/fd/4", "-e", "trace=" + tt.call,
					"-e", "inject=" + tt.call + ":delay_enter=300000", "-e", "signal=none",
				},
				flags:  []string{"--signal-scope=" + tt.scope, "--stop-verdict=worker", "--grace=20s"},
				worker: sh("exec sleep 100"),
			}.start(t)
			waitFor(t, trace, tt.call+"(")
			j.process = childrenOf(j.cmd.Process.Pid)[0]
			j.signal(syscall.SIGTERM)
			j.exits(143) // 137 would be the end of the grace
		})
	}
}

// waitFor reads until the text has come.
func waitFor(t *testing.T, from *os.File, text string) {
	t.Helper()
	from.SetReadDeadline(time.Now().Add(limit))
	var seen strings.Builder
	for buf := make([]byte, 4096); !strings.Contains(seen.String(), text); {
		n, err := from.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			t.Fatalf("waiting for %q: %v; got %q", text, err, seen.String())
		}
	}
}
