package launch_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestSameSignals sends what ends a run. The worker gets the same signal from both, and neither ends with success
// although the worker does; gangrun tells the signal too.
func TestSameSignals(t *testing.T) {
	tests := []struct {
		signal syscall.Signal
		flags  string
		says   string
		code   int // of gangrun
	}{
		{syscall.SIGINT, "", "got SIGINT", 130},
		{syscall.SIGHUP, "", "got SIGHUP", 129},
		{syscall.SIGQUIT, "", "got SIGQUIT", 131},
		{syscall.SIGUSR2, "--signals-to-handle SIGTERM,SIGUSR2 --shutdown-timeout 3", "got SIGUSR2", 140},
	}
	for _, tt := range tests {
		t.Run(tt.signal.String(), func(t *testing.T) {
			both(t, func(t *testing.T, l launcher) {
				signalled := func() harness.Result {
					s := l.start(t, act(t, "listen", words(tt.flags)...))
					s.Await("ready")
					s.Signal(tt.signal)
					return s.Wait()
				}
				res := signalled()
				for tries := 0; l.name == theirs && strings.Contains(res.Stderr, "in _start_workers") && tries < 3; tries++ {
					res = signalled() // torchrun leaves a worker behind that it has not ended to start when the signal comes
				}
				if !strings.Contains(res.Stdout, tt.says) {
					t.Errorf("exit code %d, without %q:\n%s\n%s", res.Code, tt.says, res.Stdout, res.Stderr)
				}
				if want := map[string]int{theirs: 1, ours: tt.code}[l.name]; res.Code != want {
					t.Errorf("exit code %d, not %d\n%s", res.Code, want, res.Stderr)
				}
			})
		})
	}
}
