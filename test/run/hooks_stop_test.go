package run_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestHookAfterStopSignal runs within what the worker has left of the grace.
func TestHookAfterStopSignal(t *testing.T) {
	t.Parallel()
	r := harness.Job{Flags: onExit(`echo "verdict $GANGRUN_VERDICT, $GANGRUN_EXIT_CODE, worker $GANGRUN_WORKER_EXIT_CODE"`),
		Worker: harness.Shell(`trap "exit 3" TERM; echo ready; while :; do sleep 0.05; done`)}.Start(t, limit)
	r.Await("ready")
	r.Signal(syscall.SIGTERM)
	e := r.End()
	e.Want(t, 143, exitcodes.Preempted, "Preempted")
	if !strings.Contains(e.Stdout, "[on-exit] verdict preempted, 143, worker 3\n") || !slices.Equal(codes(e.Message), []int{0}) {
		t.Errorf("output %q, %s", e.Stdout, e.Raw)
	}
}

// TestHookOutlivesGrace is a hook that would take longer than what is left of the grace. It is killed, and the next one
// is not started: at the end of the grace the container may be killed.
func TestHookOutlivesGrace(t *testing.T) {
	t.Parallel()
	r := harness.Job{
		Flags: slices.Concat([]string{"--grace", "4s", "--hook-timeout", "1h", "--restart-grace", "20s"},
			onExit(`trap "echo asked" TERM; echo hook; while :; do sleep 0.05; done`), onExit("echo never")),
		Worker: harness.Shell(`trap "exit 3" TERM; echo ready; while :; do sleep 0.05; done`),
	}.Start(t, limit)
	r.Await("ready")
	r.Signal(syscall.SIGTERM)
	e := r.End()
	e.Want(t, 143, exitcodes.Preempted, "Preempted")
	if !slices.Equal(codes(e.Message), []int{124, 124}) || !strings.Contains(e.Stdout, "[on-exit] asked") ||
		!strings.Contains(e.Stderr, "was not started: the grace is over") || strings.Contains(e.Stdout, "never") {
		t.Errorf("output %q, hooks %v\n%s", e.Stdout, e.Hooks, e.Stderr)
	}
}

// TestStopSignalDuringHook comes while a hook runs after training has succeeded. The first one starts the clock and
// changes nothing else; the second is passed on, and if it is SIGINT, ends the wait.
func TestStopSignalDuringHook(t *testing.T) {
	const hook = `trap "echo TERM; exit 0" TERM; trap "echo INT" INT; echo hook; while :; do sleep 0.05; done`
	t.Run("SIGTERM", func(t *testing.T) {
		t.Parallel()
		r := harness.Job{Flags: onExit(hook), Worker: []string{"true"}}.Start(t, limit)
		r.Await("[on-exit] hook")
		r.Signal(syscall.SIGINT)
		r.Await("the exit hooks have to end in time")
		r.Signal(syscall.SIGTERM)
		e := r.End()
		e.Want(t, 0, exitcodes.Success, "Succeeded")
		if strings.Count(e.Stdout, "TERM") != 1 || strings.Contains(e.Stdout, "INT") {
			t.Errorf("output %q", e.Stdout)
		}
	})
	t.Run("SIGINT", func(t *testing.T) {
		t.Parallel()
		r := harness.Job{Flags: append(onExit(hook), "--grace", "1h", "--hook-timeout", "1h"), Worker: []string{"true"}}.Start(t, limit)
		r.Await("[on-exit] hook")
		r.Signal(syscall.SIGINT)
		r.Await("the exit hooks have to end in time")
		r.Signal(syscall.SIGINT)
		e := r.End()
		e.Want(t, 92, exitcodes.Fatal, "ExitHookFailed")
		if !slices.Equal(codes(e.Message), []int{124}) {
			t.Errorf("hooks %v", e.Hooks)
		}
	})
	t.Run("the grace", func(t *testing.T) {
		t.Parallel()
		r := harness.Job{Flags: append(onExit(hook), "--grace", "500ms", "--hook-timeout", "1h"), Worker: harness.Shell("exit 3")}.Start(t, limit)
		r.Await("[on-exit] hook")
		r.Signal(syscall.SIGTERM)
		e := r.End()
		e.Want(t, 3, exitcodes.Fatal, "Error")
		if !slices.Equal(codes(e.Message), []int{124}) {
			t.Errorf("hooks %v", e.Hooks)
		}
	})
}

// TestKilledDuringHook kills gangrun while a hook runs: what the training came to is in the message already, and the
// hook dies with gangrun.
func TestKilledDuringHook(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 3": 3} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := harness.Job{Flags: onExit("echo hook; exec sleep 1000"), Env: []string{harness.Mark(dir)}, Worker: harness.Shell(script)}.Start(t, limit)
			r.Await("[on-exit] hook")
			r.Signal(syscall.SIGKILL)
			r.Wait()
			m := harness.Message(t, r.Log)
			if m.ExitCode != want || m.Verdict != exitcodes.CodeVerdict(want) || m.FinishedAt.IsZero() {
				t.Errorf("message %+v", m)
			}
			harness.Eventually(t, limit, "the hook's end", func() bool { return len(harness.Leftovers(dir)) == 0 })
		})
	}
}
