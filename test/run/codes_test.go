package run_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestEveryExitCode holds the message about a worker that says nothing against the table of codes.
func TestEveryExitCode(t *testing.T) {
	for code := range 256 {
		if harness.Brief() && code%16 > 0 && code != 1 && code != 2 && code != 126 && code != 127 && code != 137 && code != 255 {
			continue
		}
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			verdict, reason := exitcodes.Fatal, "Error"
			switch {
			case code == 0:
				verdict, reason = exitcodes.Success, "Succeeded"
			case code == 126:
				reason = "NotExecutable"
			case code == 127:
				reason = "NotFound"
			case code >= 128:
				verdict = exitcodes.Retry
			}
			e := harness.Job{Flags: []string{"--no-restart"}, Worker: harness.Shell(fmt.Sprint("exit ", code))}.Run(t, limit)
			e.Want(t, code, verdict, reason)
			if e.WorkerExitCode == nil || *e.WorkerExitCode != code {
				t.Errorf("worker exit code %v", e.WorkerExitCode)
			}
			if !strings.Contains(e.Message.Message, fmt.Sprint("exited ", code)) {
				t.Errorf("the sentence does not say so: %q", e.Message.Message)
			}
			if (e.RootCause == nil) != (code == 0) {
				t.Errorf("root cause %+v", e.RootCause)
			}
		})
	}
}

// TestEveryDeath is each signal that can end a process: worth a retry, under 128 and its number, and named.
func TestEveryDeath(t *testing.T) {
	for sig := 1; sig <= 64; sig++ {
		switch syscall.Signal(sig) {
		case 32, 33: // the C library's own: a parent that uses threads may have left them ignored
			continue
		case syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGURG, syscall.SIGWINCH,
			syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
			continue // these end nothing
		}
		name := exitcodes.SignalName(sig)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := fmt.Sprintf("ulimit -c 0; kill -%d $$", sig)
			e := harness.Job{Flags: []string{"--no-restart"}, Worker: harness.Shell(script)}.Run(t, limit)
			e.Want(t, 128+sig, exitcodes.Retry, "KilledBy"+name)
			if e.Signal != name || e.WorkerExitCode != nil || e.RootCause == nil || e.RootCause.Signal != name {
				t.Errorf("signal %q, worker exit code %v, root cause %+v", e.Signal, e.WorkerExitCode, e.RootCause)
			}
		})
	}
}

// TestCannotStart is a command that is not there, or is nothing that can be executed: fatal, and the message names it.
func TestCannotStart(t *testing.T) {
	plain := write(t, "plain", "#!/bin/sh\nexit 0\n")
	tests := []struct {
		name, command, reason string
		code                  int
	}{
		{"no such path", "/no/such/program", "NotFound", 127},
		{"no such name", "no-such-program", "NotFound", 127},
		{"no permission", plain, "NotExecutable", 126},
		{"a directory", t.TempDir(), "NotExecutable", 126},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := harness.Job{Worker: []string{tt.command}}.Run(t, limit) // with restarts: a retry would not help
			e.Want(t, tt.code, exitcodes.Fatal, tt.reason)
			if !strings.Contains(e.Message.Message, tt.command) || !strings.Contains(e.Stderr, tt.command) {
				t.Errorf("%s is not named: %q\n%s", tt.command, e.Message.Message, e.Stderr)
			}
			if *e.Round != 0 {
				t.Errorf("it was tried again: round %d", *e.Round)
			}
		})
	}
}

// TestOwnCodeAndVerdictDisagree is evidence against what the worker's own code says: a code of gangrun's that says the
// same as the verdict takes its place.
func TestOwnCodeAndVerdictDisagree(t *testing.T) {
	tests := []struct {
		name, script, reason, cause string
		code                        int
		verdict                     exitcodes.Verdict
	}{
		{"retry, but exits 1", "echo 'OSError: [Errno 116] Stale file handle' >&2; exit 1",
			"RetryableByRule", "StaleFileHandle", 210, exitcodes.Retry},
		{"fatal, but exits 200", "echo 'ModuleNotFoundError: No module named x' >&2; exit 200",
			"FatalByRule", "ImportError", 91, exitcodes.Fatal},
		{"fatal, but exits 0", "echo 'ERROR: Invalid metadata file latest. Exiting'", "FatalByRule", "CheckpointUnreadable", 91,
			exitcodes.Fatal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := harness.Job{Flags: []string{"--no-restart"}, Worker: harness.Shell(tt.script)}.Run(t, limit)
			e.Want(t, tt.code, tt.verdict, tt.reason)
			if e.RootCause == nil || e.RootCause.Reason != tt.cause || e.RootCause.Rule == "" || e.RootCause.Evidence == "" {
				t.Errorf("root cause %+v", e.RootCause)
			}
			without := harness.Job{Flags: []string{"--no-restart", "--rules", "none"}, Worker: harness.Shell(tt.script)}.Run(t, limit)
			if own := *without.WorkerExitCode; without.Code != own || without.Verdict != exitcodes.CodeVerdict(own) {
				t.Errorf("without rules: %d, %s", without.Code, without.Verdict)
			}
		})
	}
}

// TestLongRestartGrace is about a grace that is longer than other nodes would wait for this one. There are none.
func TestLongRestartGrace(t *testing.T) {
	t.Parallel()
	e := harness.Job{Flags: []string{"--restart-grace", "10m"}, Worker: harness.Shell("exit 0")}.Run(t, limit)
	e.Want(t, 0, exitcodes.Success, "Succeeded")
}
