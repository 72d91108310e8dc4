package run_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// quick makes the pauses between restarts too short to wait for.
const quick = "--restart-backoff=1ms:2ms"

// failing is a worker that counts its starts in a file, tells its round, and fails in its first k rounds.
func failing(count string, k int, how string) []string {
	return harness.Shell(`echo x >>"$1"; echo "round $GANGRUN_ROUND"; [ $(wc -l <"$1") -gt "$2" ] || { eval "$3"; }`,
		count, fmt.Sprint(k), how)
}

// starts is how often the worker was started.
func starts(t *testing.T, count string) int { return strings.Count(read(t, count), "x") }

// TestRestarts is a worker that fails some times and then succeeds, with a budget that is just enough or one short.
func TestRestarts(t *testing.T) {
	for _, how := range []string{"kill -KILL $$", "exit 200"} {
		for k := range 4 {
			t.Run(fmt.Sprintf("%s, %d times", how, k), func(t *testing.T) {
				t.Parallel()
				count := filepath.Join(t.TempDir(), "count")
				e := harness.Job{Flags: []string{quick, "--max-restarts", fmt.Sprint(k)}, Worker: failing(count, k, how)}.Run(t, limit)
				e.Want(t, 0, exitcodes.Success, "Succeeded")
				want := ""
				for round := range k + 1 {
					want += fmt.Sprintln("round", round)
				}
				if e.Stdout != want || starts(t, count) != k+1 {
					t.Errorf("%d starts, rounds %q", starts(t, count), e.Stdout)
				}
				if *e.Round != k || e.Restarts.Used != k || e.Restarts.Max != k {
					t.Errorf("message: round %d, restarts %+v", *e.Round, e.Restarts)
				}
				if (e.RecoverySeconds > 0) != (k > 0) {
					t.Errorf("recovery took %v s", e.RecoverySeconds)
				}
			})
		}
	}
}

// TestExhausted is a worker that fails once more than there are restarts for it.
func TestExhausted(t *testing.T) {
	pytorchJob := []string{"PET_NNODES=1", "MASTER_ADDR=job-master-0", "MASTER_PORT=23456"}
	tests := []struct {
		name    string
		flags   []string
		env     []string
		how     string
		code    int
		verdict exitcodes.Verdict
		starts  int
	}{
		{"the cause's code", []string{"--max-restarts", "2"}, nil, "kill -KILL $$", 137, exitcodes.Retry, 3},
		{"the worker's own code", []string{"--max-restarts", "1"}, nil, "exit 199", 199, exitcodes.Retry, 2},
		{"fatal", []string{"--max-restarts", "1", "--on-exhausted", "fatal"}, nil, "kill -SEGV $$", 90, exitcodes.Fatal, 2},
		{"auto, under PyTorchJob", []string{"--max-restarts", "1"}, pytorchJob, "kill -KILL $$", 90, exitcodes.Fatal, 2},
		{"retry, under PyTorchJob", []string{"--max-restarts", "1", "--on-exhausted", "retry"}, pytorchJob, "kill -KILL $$", 137,
			exitcodes.Retry, 2},
		{"one code for every retry", []string{"--max-restarts", "1", "--retry-code", "138"}, nil, "kill -KILL $$", 138,
			exitcodes.Retry, 2},
		{"fatal whatever the retry code", []string{"--max-restarts", "1", "--retry-code", "138", "--on-exhausted", "fatal"}, nil,
			"exit 200", 90, exitcodes.Fatal, 2},
		{"a window", []string{"--max-restarts", "50", "--restart-window", "2/1h"}, nil, "exit 200", 200, exitcodes.Retry, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			count := filepath.Join(t.TempDir(), "count")
			e := harness.Job{Flags: append([]string{quick}, tt.flags...), Env: tt.env, Worker: failing(count, 1000, tt.how)}.Run(t, limit)
			e.Want(t, tt.code, tt.verdict, "RestartBudgetExhausted")
			if n := starts(t, count); n != tt.starts {
				t.Errorf("%d starts, want %d", n, tt.starts)
			}
			if e.RootCause == nil || e.RootCause.Reason == "RestartBudgetExhausted" || e.RootCause.Reason == "" {
				t.Errorf("the cause behind it is lost: %+v", e.RootCause)
			}
		})
	}
}

// TestNotRestarted is what no restart is for.
func TestNotRestarted(t *testing.T) {
	tests := []struct {
		name, how string
		flags     []string
		code      int
		verdict   exitcodes.Verdict
	}{
		{"fatal", "exit 1", nil, 1, exitcodes.Fatal},
		{"fatal by rule", "echo 'ImportError: x'; exit 200", nil, 91, exitcodes.Fatal},
		{"retry, left to the operator", "kill -KILL $$", []string{"--no-restart"}, 137, exitcodes.Retry},
		{"no restarts in the budget", "exit 200", []string{"--max-restarts", "0"}, 200, exitcodes.Retry},
		{"the same with one code for all", "exit 200", []string{"--no-restart", "--retry-code", "130"}, 130, exitcodes.Retry},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			count := filepath.Join(t.TempDir(), "count")
			e := harness.Job{Flags: tt.flags, Worker: failing(count, 1000, tt.how)}.Run(t, limit)
			if e.Code != tt.code || e.Verdict != tt.verdict || starts(t, count) != 1 {
				t.Errorf("exit code %d, %s, after %d starts\n%s", e.Code, e.Verdict, starts(t, count), e.Raw)
			}
		})
	}
}

// TestBackoff reads from the log how long each pause is: none, then doubling up to the most, less a random quarter.
func TestBackoff(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	e := harness.Job{Flags: []string{"--max-restarts", "5", "--restart-backoff", "20ms:80ms"}, Worker: failing(count, 5, "exit 200")}.Run(t, limit)
	e.Want(t, 0, exitcodes.Success, "Succeeded")
	var total time.Duration
	found := regexp.MustCompile(` after=(\S+)`).FindAllStringSubmatch(e.Stderr, -1)
	most := []time.Duration{0, 20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond, 80 * time.Millisecond}
	if len(found) != len(most) {
		t.Fatalf("%d pauses in the log, want %d:\n%s", len(found), len(most), e.Stderr)
	}
	for i, m := range found {
		pause, err := time.ParseDuration(m[1])
		if err != nil || pause > most[i] || pause < most[i]*3/4 {
			t.Errorf("pause %d is %s, %v; want at most %v and not below three quarters of it", i, m[1], err, most[i])
		}
		total += pause
	}
	if e.Took < total {
		t.Errorf("the run took %v, less than the pauses (%v)", e.Took, total)
	}
}

// TestStopDuringBackoff ends a run that waits for its next round.
func TestStopDuringBackoff(t *testing.T) {
	for sig, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		t.Run(exitcodes.SignalName(int(sig)), func(t *testing.T) {
			t.Parallel()
			count := filepath.Join(t.TempDir(), "count")
			r := harness.Job{Flags: []string{"--restart-backoff", "1h:1h"}, Worker: failing(count, 1000, "exit 200")}.Start(t, limit)
			r.Await("round=2 after=")
			r.Signal(sig)
			e := r.End()
			e.Want(t, code, exitcodes.Preempted, "Preempted")
			if n := starts(t, count); n != 2 {
				t.Errorf("%d starts, want 2", n)
			}
		})
	}
}

// TestNothingOfTheOldRound leaves a grandchild behind that has a session of its own, ignores SIGTERM and holds a lock
// for as long as it lives; the next round finds the lock free, and a successful last round leaves nothing either.
func TestNothingOfTheOldRound(t *testing.T) {
	t.Parallel()
	harness.Program(t, "flock", "install util-linux")
	harness.Program(t, "setsid", "install util-linux")
	dir := t.TempDir()
	script := `cd "$1"
		flock -n -E 3 lock true || { echo "round $GANGRUN_ROUND beside an older one"; exit 3; }
		mkfifo ready.$GANGRUN_ROUND
		setsid -f sh -c 'trap "" TERM; exec 9>lock; flock 9; echo $$ >pid; echo >ready.'$GANGRUN_ROUND'; while :; do sleep 100; done' </dev/null >/dev/null 2>&1
		read x <ready.$GANGRUN_ROUND
		[ $GANGRUN_ROUND -ge 2 ] || kill -KILL $$`
	e := harness.Job{Flags: []string{quick}, Worker: harness.Shell(script, dir)}.Run(t, limit)
	e.Want(t, 0, exitcodes.Success, "Succeeded")
	if *e.Round != 2 {
		t.Errorf("ended in round %d", *e.Round)
	}
	if strings.Contains(e.Stdout, "beside an older one") {
		t.Error(e.Stdout)
	}
	var pid int
	if _, err := fmt.Sscan(read(t, filepath.Join(dir, "pid")), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("process %d of the last round is still there: %v", pid, err)
	}
}

// TestWhatTheWorkerIsTold are the variables of gangrun's own, and those that are not passed on.
func TestWhatTheWorkerIsTold(t *testing.T) {
	t.Parallel()
	e := harness.Job{
		Flags:  []string{"--job", "j", "--node", "n"},
		Env:    []string{"GANGRUN_MAX_RESTARTS=7", "OTHER=kept"},
		Worker: harness.Shell(`echo "$GANGRUN_JOB_NAME $GANGRUN_NODE_NAME $GANGRUN_ROUND [$GANGRUN_MAX_RESTARTS] $OTHER"`),
	}.Run(t, limit)
	if e.Stdout != "j n 0 [] kept\n" || e.Job != "j" || e.Node != "n" || e.Restarts.Max != 7 {
		t.Errorf("%q, %s", e.Stdout, e.Raw)
	}
}
