package local_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestLeavesNothing ends ranks that do not want to end, and everything that they have started, wherever it has gone:
// every end of a run in this package checks that.
func TestLeavesNothing(t *testing.T) {
	t.Parallel()
	harness.Program(t, "setsid", "install util-linux")
	const (
		up = `: >up.$RANK; until [ -e up.0 ] && [ -e up.1 ]; do sleep 0.01; done; echo "all up"; `
		// In a session of its own, in the background, not knowing whose it is.
		child = `env -i "PATH=$PATH" setsid sh -c 'trap "" TERM HUP INT; : >child.$1; while :; do sleep 0.1; done' sh $RANK &
			until [ -e child.$RANK ]; do sleep 0.01; done; `
		deaf      = `trap "" TERM; `
		goOn      = `while :; do sleep 0.1; done`
		fail      = `[ $RANK = 0 ] || exit 3; `
		succeed   = `exit 0`
		once      = `[ $GANGRUN_ROUND = 0 ] || exit 0; `
		failRetry = `[ $RANK = 0 ] || exit 200; `
	)
	tests := []struct {
		name, script string
		stop         syscall.Signal // from outside, once both are up; 0 for none
		code         int
		want         string // of rank 0 in the table
	}{
		{"ignores SIGTERM when another fails", deaf + up + fail + goOn, 0, 3, "0 | stopped | 137 SIGKILL | T |"},
		{"ignores SIGTERM from outside", deaf + up + goOn, syscall.SIGTERM, 143, "0 | preempted | 137 SIGKILL | T |"},
		{"grandchildren after success", child + up + succeed, 0, 0, "0 | success | 0 | T |"},
		{"grandchildren after a failure", child + up + fail + goOn, 0, 3, "0 | stopped | 143 SIGTERM | T |"},
		{"grandchildren when stopped from outside", child + up + goOn, syscall.SIGTERM, 143, "0 | preempted | 143 SIGTERM | T |"},
		{"all of it, and a restart", once + deaf + child + up + failRetry + goOn, 0, 0, "0 | success | 0 | T |"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := job{flags: []string{"-n", "2", "--restart-grace", "200ms", "--grace", "200ms"}, worker: shell(tt.script)}.start(t)
			if tt.stop != 0 {
				r.Await("[0] all up")
				r.Await("[1] all up")
				r.Signal(tt.stop)
			}
			res := r.end()
			res.want(t, tt.code)
			if rows := table(t, res.Stderr); strings.TrimSuffix(rows[1], " all up") != tt.want {
				t.Errorf("%q, want %q", rows[1], tt.want)
			}
		})
	}
}
