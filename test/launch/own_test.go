package launch_test

import (
	"syscall"
	"testing"

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
