package run_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// steps is a worker that looks at GANGRUN_STOP_FILE, with the snippet of examples/save.
func steps(t *testing.T) []string {
	t.Helper()
	return []string{harness.Program(t, "python3", "install python3"), filepath.Join(harness.Root(), "test/run/testdata/steps.py"),
		filepath.Join(harness.Root(), "examples")}
}

var savedAt = regexp.MustCompile(`saved at (\d+), told '(\d+)'`)

// TestSave is a save on one node, without a store: the file is not there before, tells a step that is two seconds ahead, and
// the message says how it went. It is another file in each round.
func TestSave(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode  string
		flags []string
		sig   syscall.Signal
		ranks int
		by    string
	}{
		"a stop":         {"run", nil, syscall.SIGTERM, 1, "SIGTERM from outside"},
		"a notice":       {"run", []string{"--notice-signal", "USR1@1m"}, syscall.SIGUSR1, 1, byNotice},
		"the time limit": {"run", []string{"--time-limit", "20s", "--grace", "10s"}, 0, 1, "the time limit of 20s"},
		"two ranks":      {"local", []string{"-n", "2"}, syscall.SIGTERM, 2, "SIGTERM from outside"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log := filepath.Join(dir, "log")
			argv := append([]string{harness.Binary(t), tt.mode, "--termination-log", log, "--restart-backoff", "1ms:1ms"}, tt.flags...)
			argv = append(append(argv, "--"), steps(t)...)
			r := &harness.Running{Process: harness.Start(t, limit, []string{"FAIL_ONCE=" + filepath.Join(dir, "failed")}, argv...), Log: log}
			r.Await("five steps")
			if tt.ranks == 2 {
				r.Await("[0] five steps")
				r.Await("[1] five steps")
			}
			if tt.sig != 0 {
				r.Signal(tt.sig)
			}
			e := preempted(t, r, tt.by)
			saved := savedAt.FindAllStringSubmatch(e.Stdout, -1)
			if len(saved) != tt.ranks {
				t.Fatalf("%d ranks have saved:\n%s\n%s", len(saved), e.Stdout, e.Stderr)
			}
			for _, m := range saved {
				if at, _ := strconv.Atoi(m[1]); m[1] != m[2] || m[1] != saved[0][1] || at < 10 {
					t.Errorf("saved at %s, told %s", m[1], m[2])
				}
			}
			if want := fmt.Sprintf("; all ranks here have saved at step %s, as agreed", saved[0][1]); !strings.HasSuffix(e.Message.Message, want) {
				t.Errorf("the message does not end with %q: %s", want, e.Raw)
			}
			if strings.Contains(e.Stdout, "file is there") || *e.Round != 1 {
				t.Errorf("%s\n%s\n%s", e.Stdout, e.Stderr, e.Raw)
			}
		})
	}
}

// TestSaveWithoutGangrun is the same script by itself: there is nothing to look at, and it trains.
func TestSaveWithoutGangrun(t *testing.T) {
	t.Parallel()
	r := harness.Start(t, limit, nil, steps(t)...)
	r.Await("five steps")
	r.Signal(syscall.SIGTERM)
	if res := r.Wait(); res.Code != 143 && res.Code != -1 || strings.Contains(res.Stdout, "saved") || res.Stderr != "" {
		t.Errorf("exit code %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
	}
}

// TestSaveThatNobodyMakes: who does not look is told to stop at once, who looks and does not come to the step in time is
// told before its grace is over; the message names each.
func TestSaveThatNobodyMakes(t *testing.T) {
	t.Parallel()
	e := preempted(t, func() *harness.Running { r := begin(t, answering("TERM")); r.Signal(syscall.SIGTERM); return r }(), "SIGTERM from outside, after which the worker exited 0")
	if all := string(e.Raw) + e.Stderr; strings.Contains(all, "GANGRUN_STOP_FILE") {
		t.Errorf("nobody expects a save of what tells no steps: %s", all)
	}
	telling := func(what string) []string {
		return []string{harness.Program(t, "python3", "install python3"), "-c", `
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.sendto(sys.argv[1].encode(), os.environ["NOTIFY_SOCKET"])
print("training", flush=True)
time.sleep(1000)`, what}
	}
	r := begin(t, telling("X_GANGRUN_STEP=7"))
	r.Signal(syscall.SIGTERM)
	e = preempted(t, r, "SIGTERM from outside, after which the worker was killed by SIGTERM")
	if want := "; the worker did not say that it looks at GANGRUN_STOP_FILE"; !strings.HasSuffix(e.Message.Message, want) || !strings.Contains(e.Stderr, want[2:]) {
		t.Errorf("neither the message nor the log says %q: %s\n%s", want, e.Raw, e.Stderr)
	}
	r = begin(t, telling("X_GANGRUN_STOP_FILE=1\nX_GANGRUN_STEP=7"), "--grace", "8s")
	r.Signal(syscall.SIGTERM)
	e = preempted(t, r, "SIGTERM from outside, after which the worker was killed by SIGTERM")
	if want := "; asked by GANGRUN_STOP_FILE to save at step 9, and not done in time: the worker (at step 7)"; !strings.HasSuffix(e.Message.Message, want) || !strings.Contains(e.Stderr, want[2:]) {
		t.Errorf("neither the message nor the log says %q: %s\n%s", want, e.Raw, e.Stderr)
	}
}
