package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// onExit is a hook that is a shell script without single quotes.
func onExit(script string) []string { return []string{"--on-exit", "sh -c '" + script + "'"} }

// codes are what the hooks of a record ended with.
func codes(e exitcodes.Message) (list []int) {
	for _, h := range e.Hooks {
		list = append(list, h.ExitCode)
	}
	return list
}

// TestExitHandlerWhoseSuccessHidesAFailedPipeline is the story that exit hooks must never tell: the training fails, what
// cleans up after it succeeds, and whoever looks at the whole sees a success. The training's end stays what it is: the
// exit code, the verdict in the message, and what the handlers are told.
func TestExitHandlerWhoseSuccessHidesAFailedPipeline(t *testing.T) {
	for training, want := range map[string]struct {
		code    int
		verdict exitcodes.Verdict
		reason  string
	}{
		"exit 3":        {3, exitcodes.Fatal, "Error"},
		"kill -KILL $$": {137, exitcodes.Retry, "KilledBySIGKILL"},
	} {
		t.Run(training, func(t *testing.T) {
			t.Parallel()
			e := harness.Job{
				Flags:  append(onExit("echo cleaned up: $GANGRUN_VERDICT; exit 0"), "--on-job-end", "true", "--no-restart"),
				Worker: harness.Shell(training),
			}.Run(t, limit)
			e.Want(t, want.code, want.verdict, want.reason)
			if e.Stdout != fmt.Sprintf("[on-exit] cleaned up: %s\n", want.verdict) || !slices.Equal(codes(e.Message), []int{0, 0}) {
				t.Errorf("output %q, %s", e.Stdout, e.Raw)
			}
		})
	}
}

// TestHookAndTraining is the table of both ends: a hook never makes the training's better.
func TestHookAndTraining(t *testing.T) {
	ignore := []string{"--hook-failure", "ignore"}
	for name, tt := range map[string]struct {
		worker  string
		flags   []string
		code    int
		verdict exitcodes.Verdict
		reason  string
		hooks   []int
	}{
		"both succeed":                  {"exit 0", onExit("exit 0"), 0, exitcodes.Success, "Succeeded", []int{0}},
		"the hook fails":                {"exit 0", onExit("exit 7"), 92, exitcodes.Fatal, "ExitHookFailed", []int{7}},
		"the hook is killed":            {"exit 0", onExit("kill -SEGV $$"), 92, exitcodes.Fatal, "ExitHookFailed", []int{139}},
		"both fail":                     {"exit 3", onExit("exit 7"), 3, exitcodes.Fatal, "Error", []int{7}},
		"the hook would ask to retry":   {"exit 0", onExit("exit 200"), 92, exitcodes.Fatal, "ExitHookFailed", []int{200}},
		"one code for each retry":       {"exit 0", append(onExit("exit 7"), "--retry-code", "138"), 92, exitcodes.Fatal, "ExitHookFailed", []int{7}},
		"it is gone by then":            {"rm HOOK", []string{"--on-exit", "HOOK -x"}, 92, exitcodes.Fatal, "ExitHookFailed", []int{127}},
		"not executable by then":        {"chmod 644 HOOK", []string{"--on-exit", "HOOK"}, 92, exitcodes.Fatal, "ExitHookFailed", []int{126}},
		"gone after a failure":          {"rm HOOK; exit 3", []string{"--on-exit", "HOOK"}, 3, exitcodes.Fatal, "Error", []int{127}},
		"failure ignored":               {"exit 0", append(onExit("exit 7"), ignore...), 0, exitcodes.Success, "Succeeded", []int{7}},
		"a missing one ignored":         {"exit 0", append([]string{"--on-exit", "/no/such"}, ignore...), 0, exitcodes.Success, "Succeeded", []int{127}},
		"all run though the first fail": {"exit 0", slices.Concat(onExit("exit 1"), onExit("exit 2"), onExit("exit 0")), 92, exitcodes.Fatal, "ExitHookFailed", []int{1, 2, 0}},
		"a worker that does not exist":  {"", onExit("exit 0"), 127, exitcodes.Fatal, "NotFound", []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hook := filepath.Join(t.TempDir(), "hook")
			if err := os.WriteFile(hook, []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			for i, flag := range tt.flags {
				tt.flags[i] = strings.ReplaceAll(flag, "HOOK", hook)
			}
			worker := harness.Shell(strings.ReplaceAll(tt.worker, "HOOK", hook))
			if tt.worker == "" {
				worker = []string{"/no/such/training"}
			}
			e := harness.Job{Flags: append([]string{"--no-restart"}, tt.flags...), Worker: worker}.Run(t, limit)
			e.Want(t, tt.code, tt.verdict, tt.reason)
			if !slices.Equal(codes(e.Message), tt.hooks) {
				t.Errorf("hooks %+v, want %v", e.Hooks, tt.hooks)
			}
		})
	}
}

// TestHookThatIsNotThere is refused before training starts: after it the news would come too late.
func TestHookThatIsNotThere(t *testing.T) {
	t.Parallel()
	for command, says := range map[string]string{
		"/no/such -x": "--on-exit /no/such: cannot start /no/such: no such file or directory",
		"/etc/passwd": "--on-exit /etc/passwd: cannot start /etc/passwd: permission denied",
		"no-such":     "--on-exit no-such: cannot start no-such: not found in PATH",
	} {
		e := harness.Job{Flags: []string{"--on-exit", command}, Worker: harness.Shell("echo trained")}.Run(t, limit)
		e.Want(t, 64, exitcodes.Fatal, "BadConfig")
		if e.Stdout != "" || !strings.Contains(e.Stderr, says) {
			t.Errorf("%q, %q", e.Stdout, e.Stderr)
		}
	}
}

// TestHookOutput is what a hook prints, in order, and its last words in the message where it has failed.
func TestHookOutput(t *testing.T) {
	t.Parallel()
	e := harness.Job{Flags: slices.Concat(onExit("echo one; echo err >&2; printf half"), onExit("echo two; exit 5")),
		Worker: harness.Shell("echo training")}.Run(t, limit)
	e.Want(t, 92, exitcodes.Fatal, "ExitHookFailed")
	if want := "training\n[on-exit] one\n[on-exit] half\n[on-exit] two\n"; e.Stdout != want {
		t.Errorf("standard output %q, want %q", e.Stdout, want)
	}
	if !strings.Contains(e.Stderr, "[on-exit] err\n") {
		t.Errorf("standard error %q", e.Stderr)
	}
	if e.LogTail != "two\n" || !strings.Contains(e.Message.Message, "on-exit:sh ended with exit code 5") {
		t.Errorf("message %s", e.Raw)
	}
	if e.Hooks[0].Name != "on-exit:sh" {
		t.Errorf("hooks %+v", e.Hooks)
	}
}

// TestHookSeesOutcome reads the variables and the file in a hook, after a restart, and none of gangrun's own settings.
func TestHookSeesOutcome(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "env")
	copied := filepath.Join(t.TempDir(), "outcome")
	e := harness.Job{
		Flags: append([]string{quick, "--job", "j", "--node", "n", "--max-restarts", "1"},
			onExit(`env >"$OUT"; cat "$GANGRUN_OUTCOME_FILE" >"$COPY"; pwd`)...),
		Env:    []string{"OUT=" + out, "COPY=" + copied, "GANGRUN_LOG_LEVEL=debug", "GANGRUN_STEP=999", "NOTIFY_SOCKET=/nowhere"},
		Worker: harness.Shell("exit 200"),
	}.Run(t, limit)
	e.Want(t, 200, exitcodes.Retry, "RestartBudgetExhausted")
	env := strings.Split(read(t, out), "\n")
	for _, want := range []string{
		"GANGRUN_HOOK=on-exit", "GANGRUN_VERDICT=retry", "GANGRUN_REASON=RestartBudgetExhausted", "GANGRUN_EXIT_CODE=200",
		"GANGRUN_WORKER_EXIT_CODE=200", "GANGRUN_JOB_NAME=j", "GANGRUN_NODE_NAME=n", "GANGRUN_ROUND=1", "GANGRUN_RESTARTS_USED=1",
		"GANGRUN_MESSAGE=" + e.Message.Message,
	} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(env, "\n"))
		}
	}
	for _, entry := range env {
		for _, not := range []string{"GANGRUN_STEP=", "GANGRUN_LOG_LEVEL=", "GANGRUN_ON_EXIT=", "NOTIFY_SOCKET="} {
			if strings.HasPrefix(entry, not) {
				t.Errorf("%s came through", entry)
			}
		}
	}
	m, err := exitcodes.ParseMessage([]byte(read(t, copied)))
	if err != nil || m.Reason != e.Reason || m.ExitCode != 200 || m.RootCause == nil || len(m.Hooks) > 0 {
		t.Errorf("the file says %+v, %v", m, err)
	}
	if wd, _ := os.Getwd(); !strings.Contains(e.Stdout, "[on-exit] "+wd+"\n") {
		t.Errorf("the working directory: %s", e.Stdout)
	}
}

// TestHookHasNoInput is a hook that reads, from gangrun's own input and from the terminal.
func TestHookHasNoInput(t *testing.T) {
	t.Parallel()
	const session = `[ "$(cut -d" " -f6 /proc/$$/stat)" = $$ ] && echo own session`
	e := harness.Job{Flags: onExit(`cat; (: </dev/tty) 2>/dev/null || echo none; ` + session), Worker: []string{"true"}}.Run(t, limit)
	e.Want(t, 0, exitcodes.Success, "Succeeded")
	if e.Stdout != "[on-exit] none\n[on-exit] own session\n" {
		t.Errorf("output %q", e.Stdout)
	}
}

// TestHookHangs is a hook that does not end: it gets SIGTERM at its timeout, which it may answer, and then SIGKILL. The
// next one runs all the same.
func TestHookHangs(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"deaf":           `trap "" TERM; while :; do sleep 0.05; done`,
		"answers":        `trap "echo bye; exit 0" TERM; while :; do sleep 0.05; done`,
		"stopped":        `kill -STOP $$`,
		"with children":  `trap "" TERM; sleep 1000 & sleep 1000`,
		"children alone": `sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			e := harness.Job{
				Flags: slices.Concat([]string{"--hook-timeout", "2s", "--restart-grace", "2s"}, onExit(script), onExit("echo next")),
				Env:   []string{harness.Mark(dir)}, Worker: []string{"true"},
			}.Run(t, limit)
			e.Want(t, 92, exitcodes.Fatal, "ExitHookFailed")
			if !slices.Equal(codes(e.Message), []int{124, 0}) || !strings.Contains(e.Message.Message, "did not end within 2s") {
				t.Errorf("message %s", e.Raw)
			}
			if strings.Contains(e.Stdout, "bye") != (name == "answers") || !strings.Contains(e.Stdout, "[on-exit] next\n") {
				t.Errorf("output %q", e.Stdout)
			}
			if left := harness.Leftovers(dir); len(left) > 0 {
				t.Errorf("still there: %v", left)
			}
		})
	}
}

// TestHookLeftovers is what a hook leaves behind in another session: gone with it, or left when that was asked for.
func TestHookLeftovers(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"kill", "term", "leave"} {
		for _, how := range []string{"", `trap "" TERM; `} {
			t.Run(what+how, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				t.Cleanup(func() { harness.KillLeftovers(dir) })
				// The hook ends only once its child is in a session of its own.
				script := `setsid sh -c "` + strings.ReplaceAll(how, `"`, `\"`) + `echo \$\$ >\"$DIR\"/pid; exec sleep 1000" & until [ -s "$DIR"/pid ]; do sleep 0.01; done`
				e := harness.Job{Flags: append(onExit(script), "--leftovers", what), Env: []string{harness.Mark(dir), "DIR=" + dir},
					Worker: []string{"true"}}.Run(t, limit)
				e.Want(t, 0, exitcodes.Success, "Succeeded")
				pid, err := strconv.Atoi(strings.TrimSpace(read(t, filepath.Join(dir, "pid"))))
				if err != nil {
					t.Fatal(err)
				}
				lives := what == "leave" || what == "term" && how != ""
				if lives {
					if syscall.Kill(pid, 0) != nil {
						t.Error("it is gone")
					}
					return
				}
				harness.Eventually(t, limit, "its end", func() bool { return len(harness.Leftovers(dir)) == 0 })
				if what == "kill" && how != "" && !strings.Contains(e.Stderr, "what the exit hook left behind did not stop: SIGKILL") {
					t.Errorf("nothing is said of it: %s", e.Stderr)
				}
			})
		}
	}
}

// TestJobEndOnOneNode is a job of one node: its end is the job's, unless it is told to stop, which only suspends it.
func TestJobEndOnOneNode(t *testing.T) {
	hooks := []string{"--on-job-end", "echo job", "--on-exit", "echo node"}
	for worker, want := range map[string]string{
		"exit 0":        "[on-exit] node\n[on-job-end] job\n",
		"exit 3":        "[on-exit] node\n[on-job-end] job\n",
		"kill -KILL $$": "[on-exit] node\n[on-job-end] job\n",
	} {
		t.Run(worker, func(t *testing.T) {
			t.Parallel()
			e := harness.Job{Flags: append([]string{quick, "--max-restarts", "1"}, hooks...), Worker: harness.Shell(worker)}.Run(t, limit)
			if e.Stdout != want {
				t.Errorf("output %q, want %q", e.Stdout, want)
			}
		})
	}
	t.Run("preempted", func(t *testing.T) {
		t.Parallel()
		r := harness.Job{Flags: hooks, Worker: harness.Shell("echo ready; exec sleep 1000")}.Start(t, limit)
		r.Await("ready")
		r.Signal(syscall.SIGTERM)
		e := r.End()
		e.Want(t, 143, exitcodes.Preempted, "Preempted")
		if e.Stdout != "ready\n[on-exit] node\n" {
			t.Errorf("output %q", e.Stdout)
		}
	})
}

// TestHooksOfAll ways to start a training run alike.
func TestHooksOfAll(t *testing.T) {
	script := write(t, "train", "#!/bin/sh\nexit 0\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, argv := range map[string][]string{
		"launch": {"launch", "--on-exit", "echo hook", "--on-job-end", "false", "--nproc-per-node", "2", "--no-python", script},
		"local":  {"local", "-n", "2", "--on-exit", "echo hook", "--on-job-end", "false", "--", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			res := harness.Run(t, limit, []string{"GANGRUN_TERMINATION_LOG=" + log}, append([]string{harness.Binary(t)}, argv...)...)
			m := harness.Message(t, log)
			if res.Code != 92 || m.ExitCode != 92 || strings.Count(res.Stdout, "[on-exit] hook\n") != 1 || !slices.Equal(codes(m), []int{0, 1}) {
				t.Errorf("exit code %d, %+v\n%s\n%s", res.Code, m.Hooks, res.Stdout, res.Stderr)
			}
		})
	}
}

// TestHookMistakes are refused before anything is started.
func TestHookMistakes(t *testing.T) {
	many := []string{}
	for range 65 {
		many = append(many, "--on-exit", "true")
	}
	for name, tt := range map[string]struct {
		flags []string
		says  []string
	}{
		"empty":         {[]string{"--on-exit", ""}, []string{"--on-exit", "want a command"}},
		"a pipe":        {[]string{"--on-exit", "a | b"}, []string{"--on-exit", "no shell runs this"}},
		"an open quote": {[]string{"--on-job-end", "a 'b"}, []string{"--on-job-end", "want a command"}},
		"no time":       {[]string{"--hook-timeout", "0s"}, []string{"--hook-timeout", "cannot be 0"}},
		"a choice":      {[]string{"--hook-failure", "ignored"}, []string{"--hook-failure", "did you mean ignore?"}},
		"too many":      {many, []string{"--on-exit", "at most 64"}},
	} {
		t.Run(name, func(t *testing.T) {
			res := harness.Run(t, limit, nil, slices.Concat([]string{harness.Binary(t), "run"}, tt.flags, []string{"--", "echo", "started"})...)
			refused(t, res, tt.says...)
		})
	}
}

// TestHookAsPID1 is a hook below the first process of a container, whose every leftover would keep the container alive.
func TestHookAsPID1(t *testing.T) {
	t.Parallel()
	argv := harness.PIDNamespace(t, harness.Binary(t), "run", "--on-exit", `sh -c 'setsid sleep 1000 & echo hook'`, "--", "sh", "-c", "exit 3")
	res := harness.Run(t, limit, nil, argv...)
	if res.Code != 3 || !strings.Contains(res.Stdout, "[on-exit] hook") {
		t.Error(fmt.Sprintf("exit code %d", res.Code), res.Stdout, res.Stderr)
	}
}
