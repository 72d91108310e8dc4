package train_test

import (
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestTorchRankDies is torchrun, which itself always exits with 1, with two ranks of which one dies while the other
// waits for it. What the survivor says about a closed connection is not the cause, whoever of them torchrun reports.
func TestTorchRankDies(t *testing.T) {
	tests := []struct {
		name     string
		args     []string
		code     int
		verdict  exitcodes.Verdict
		reason   string
		rank     int
		signal   string
		evidence string
	}{
		{"SIGKILL", []string{"--how", "SIGKILL"}, 137, exitcodes.Retry, "KilledBySIGKILL", 1, "SIGKILL", "SIGKILL"},
		{"SIGKILL of rank 0", []string{"--how", "SIGKILL", "--die-rank", "0"}, 137, exitcodes.Retry, "KilledBySIGKILL", 0, "SIGKILL", "SIGKILL"},
		{"SIGSEGV", []string{"--how", "SIGSEGV"}, 139, exitcodes.Retry, "KilledBySIGSEGV", 1, "SIGSEGV", "SIGSEGV"},
		{"an exception", []string{"--how", "exception"}, 1, exitcodes.Fatal, "Error", 1, "", "ValueError: die at step 5 on rank 1"},
		{"an exception in the error file", []string{"--how", "exception", "--record"}, 1, exitcodes.Fatal, "Error", 1, "",
			"ValueError: die at step 5 on rank 1"},
		{"an exit code", []string{"--how", "exit:3"}, 3, exitcodes.Fatal, "Error", 1, "", "exited 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parallel(t)
			args := append([]string{"--steps", "8", "--die-at", "5"}, tt.args...)
			e := harness.Job{Flags: []string{"--no-restart"}, Env: one, Worker: torchrun(t, "2", trainer("torch_ddp.py"), args...)}.Run(t, limit)
			e.Want(t, tt.code, tt.verdict, tt.reason)
			blames(t, e, tt.rank)
			aborted := tt.signal == "" && e.Signal == onTheWayOut
			if e.Signal != tt.signal && !aborted || !strings.Contains(e.RootCause.Evidence, tt.evidence) {
				t.Errorf("signal %q, evidence %q", e.Signal, e.RootCause.Evidence)
			}
			if e.WorkerExitCode == nil || *e.WorkerExitCode != 1 {
				t.Errorf("torchrun's own code is %v", e.WorkerExitCode)
			}
			if own := e.RootCause.ExitCode; tt.signal == "" && !aborted && (own == nil || *own != tt.code) {
				t.Errorf("rank %d exited with %d, and the root cause says %v", tt.rank, tt.code, own)
			}
		})
	}
}

// onTheWayOut is the signal by which torch's own threads now and then kill an interpreter that goes down: the exception stays
// the cause, the message tells both.
const onTheWayOut = "SIGABRT"

// blames fails the test unless the message names this rank.
func blames(t *testing.T, e harness.Ended, rank int) {
	t.Helper()
	if e.Rank == nil || *e.Rank != rank || e.RootCause == nil || e.RootCause.Rank == nil || *e.RootCause.Rank != rank {
		t.Fatalf("rank %d is not named: %s", rank, e.Raw)
	}
}

// TestTorchSeveralFail is two ranks that fail one right after the other. torchrun calls the first of its list the root
// cause; that is the one which only lost the other.
func TestTorchSeveralFail(t *testing.T) {
	tests := []struct {
		how      string
		code     int
		verdict  exitcodes.Verdict
		evidence string
	}{
		{"SIGSEGV", 139, exitcodes.Retry, "SIGSEGV"},
		{"ValueError", 1, exitcodes.Fatal, "ValueError: the cause"},
	}
	for _, tt := range tests {
		t.Run(tt.how, func(t *testing.T) {
			parallel(t)
			e := harness.Job{Flags: []string{"--no-restart"}, Env: one,
				Worker: torchrun(t, "2", harness.Script(t, "several.py"), t.TempDir()+"/fifo", tt.how)}.Run(t, limit)
			if e.Code != tt.code || e.Verdict != tt.verdict || !strings.Contains(e.RootCause.Evidence, tt.evidence) {
				t.Errorf("exit code %d, %s\n%s\n%s", e.Code, e.Verdict, e.Raw, e.Stderr)
			}
			blames(t, e, 1)
		})
	}
}

// TestTorchProgramIsWrong are mistakes that come again however often it is tried: with restarts allowed there is none.
func TestTorchProgramIsWrong(t *testing.T) {
	tests := []struct{ script, reason, evidence string }{
		{"imports.py", "ImportError", "ModuleNotFoundError: No module named 'no_such_module'"},
		{"syntax.py.txt", "CodeError", "SyntaxError: "},
	}
	for _, tt := range tests {
		t.Run(tt.script, func(t *testing.T) {
			parallel(t)
			// One rank: two that fail at the same moment tear each other's lines, since torchrun gives both its own stderr.
			e := harness.Job{Env: one, Worker: torchrun(t, "1", harness.Script(t, tt.script))}.Run(t, limit)
			e.Want(t, 1, exitcodes.Fatal, tt.reason)
			if !strings.Contains(e.RootCause.Evidence, tt.evidence) || !strings.Contains(e.Message.Message, tt.evidence) || *e.Round != 0 {
				t.Errorf("%s", e.Raw)
			}
		})
	}
}
