package launch_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestOwnFlagsAndMessage mixes gangrun's own flags with torchrun's before the script, and reads the termination message
// that torchrun has no equal of.
func TestOwnFlagsAndMessage(t *testing.T) {
	tests := []struct {
		name     string
		flags    string
		shell    string // $$ is a dollar
		code     int
		verdict  exitcodes.Verdict
		reason   string
		rank     int // that is blamed; -1 where it may be any
		restarts int
	}{
		{"exit code", "--max-restarts 2", "test $$RANK = 0 && sleep 1000; exit 3",
			3, exitcodes.Fatal, "RestartBudgetExhausted", 1, 2}, // restarted as torchrun would
		{"no use", "--max-restarts 2", "test $$RANK = 0 && sleep 1000; echo \"ModuleNotFoundError: No module named 'x'\" >&2; exit 1",
			1, exitcodes.Fatal, "ImportError", 1, 0},
		{"signal", "--no-restart", "test $$RANK = 1 && sleep 1000; kill -SEGV $$$$",
			139, exitcodes.Retry, "KilledBySIGSEGV", 0, 0},
		{"retry code", "--no-restart --retry-code 138", "test $$RANK = 0 && sleep 1000; exit 200",
			138, exitcodes.Retry, "Error", 1, 0},
		{"budget", "--max-restarts 1 --max-same-failure 0", "kill -KILL $$$$",
			137, exitcodes.Retry, "RestartBudgetExhausted", -1, 1},
		{"second attempt", "--max-restarts 2", "test $$RANK = 0 -o $$TORCHELASTIC_RESTART_COUNT = 1 || kill -KILL $$$$",
			0, exitcodes.Success, "Succeeded", -1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			flags := words("--termination-log {dir}/message --nproc-per-node 2 --quiet --no-python " + tt.flags)
			res, dir := gangrun(t).run(t, job{flags: flags, script: "/bin/sh", args: []string{"-c", tt.shell}})
			msg := harness.Message(t, dir+"/message")
			if res.Code != tt.code || msg.ExitCode != tt.code || msg.Verdict != tt.verdict || msg.Reason != tt.reason {
				t.Errorf("exit code %d, not %d\n%+v\n%s", res.Code, tt.code, msg, res.Stderr)
			}
			if tt.rank >= 0 && (msg.Rank == nil || *msg.Rank != tt.rank) {
				t.Errorf("rank %d is not blamed: %+v", tt.rank, msg)
			}
			if used := restarts(msg); used != tt.restarts {
				t.Errorf("%d restarts, not %d: %+v", used, tt.restarts, msg)
			}
		})
	}
}

// TestDescriptors keeps what gangrun was started with beyond the standard three from the ranks, as torchrun does; run
// passes it on.
func TestDescriptors(t *testing.T) {
	for command, want := range map[string]string{"launch --no-python --": "no 9", "run --": "9"} {
		script := "exec 9>/dev/null; exec " + harness.Binary(t) + " " + command + ` sh -c '[ -e /proc/self/fd/9 ] && echo 9 || echo no 9'`
		if res := harness.Run(t, time.Minute, nil, "/bin/sh", "-c", script); res.Code != 0 || res.Stdout != want+"\n" {
			t.Errorf("%s: exit code %d, %q, want %q\n%s", command, res.Code, res.Stdout, want, res.Stderr)
		}
	}
}

// overruns sets a timer of two seconds by torch's own client, or by what it writes, and overruns it in round 0.
const overruns = `
import json, os, time
path, round_ = os.environ["TORCHELASTIC_TIMER_FILE"], os.environ["GANGRUN_ROUND"]
seconds = 1000 if round_ == "0" else 0
try:
    import torch.distributed.elastic.timer as timer
    timer.configure(timer.FileTimerClient(path))
    with timer.expires(after=2, scope="step"):
        time.sleep(seconds)
except ImportError:
    with open(path, "w") as f:
        f.write(json.dumps({"version": 1, "pid": os.getpid(), "scope_id": "step", "expiration_time": time.time() + 2, "signal": 9}) + "\n")
    time.sleep(seconds)
print("finished", path)
`

// TestTimers: a rank that overruns a timer which it has set is ended, and restarted; the pipe is gone afterwards.
func TestTimers(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "overruns.py")
	if err := os.WriteFile(script, []byte(overruns), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, python := range map[string]string{"its protocol": harness.Program(t, "python3", "install python3"), "torch": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "torch" {
				python = harness.Peer(t, "torch/bin/python3")
			}
			temporary := t.TempDir()
			res := harness.Run(t, 2*time.Minute, []string{"TORCHELASTIC_ENABLE_FILE_TIMER=1", "PYTHON_EXEC=" + python, "TMPDIR=" + temporary},
				harness.Binary(t), "launch", "--max-restarts", "1", script)
			if res.Code != 0 || !strings.Contains(res.Stdout, "finished "+temporary+"/watchdog_timer_") ||
				!strings.Contains(res.Stderr, "a timer set by the training expired") ||
				!strings.Contains(res.Stderr, "KilledBySIGKILL") {
				t.Errorf("exit code %d: %s%s", res.Code, res.Stdout, res.Stderr)
			}
			if left, _ := filepath.Glob(temporary + "/watchdog_timer_*"); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestPluginsThatChangeNothing are accepted, each as far as it means something without Python.
func TestPluginsThatChangeNothing(t *testing.T) {
	res := harness.Run(t, time.Minute, nil, harness.Binary(t), "launch", "--logs-specs", "default",
		"--event-log-handler", "console", "--no-python", "true")
	if res.Code != 0 || !strings.Contains(res.Stderr, "--event-log-handler console") {
		t.Errorf("exit code %d: %s", res.Code, res.Stderr)
	}
	for shell, says := range map[string]string{"bash": "complete -o default", "zsh": "bashcompinit", "tcsh": "complete torchrun"} {
		res := harness.Run(t, time.Minute, nil, harness.Binary(t), "launch", "--print-completion", shell)
		if res.Code != 0 || !strings.Contains(res.Stdout, says) || !strings.Contains(res.Stdout, "nproc-per-node") {
			t.Errorf("%s: exit code %d: %s%s", shell, res.Code, res.Stdout, res.Stderr)
		}
	}
}

func restarts(msg exitcodes.Message) int {
	if msg.Restarts == nil {
		return 0
	}
	return msg.Restarts.Used
}

// TestPreempted: a stop from outside is no failure, whatever the workers answer; there is a message, and no report.
func TestPreempted(t *testing.T) {
	s := gangrun(t).start(t, act(t, "stop", "--termination-log", "{dir}/message", "--max-restarts", "3"))
	s.Await("ready")
	s.Signal(syscall.SIGTERM)
	res := s.Wait()
	msg := harness.Message(t, s.dir+"/message")
	if res.Code != 143 || msg.Verdict != exitcodes.Preempted || msg.Reason != "Preempted" {
		t.Errorf("exit code %d\n%+v\n%s", res.Code, msg, res.Stderr)
	}
	if box.MatchString(res.Stderr) {
		t.Errorf("a failure report:\n%s", res.Stderr)
	}
}
