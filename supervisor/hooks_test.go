package supervisor

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/environ"
)

// TestHookEnvironment is a record with everything in it, and one with nothing, over an environment that has the marks
// of another gangrun.
func TestHookEnvironment(t *testing.T) {
	round, code, step := 2, 1, int64(70)
	full := exitcodes.Message{
		Verdict: exitcodes.Retry, Reason: "OOMKilled", Message: "rank 3\x00was\nkilled\t: \x1b[31m\xff" + strings.Repeat("x", 9000),
		ExitCode: 137, WorkerExitCode: &code, Signal: "SIGKILL", Job: "j", Node: "n", Round: &round, Step: &step,
		Restarts: &exitcodes.Restarts{Used: 3}, Checkpoint: &exitcodes.Checkpoint{Path: "/c/70", Step: &step},
	}
	s := &Supervisor{log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	s.scratch.log, s.scratch.tried, s.scratch.dir = s.log, true, t.TempDir()
	s.cfg.MessageMax, s.cfg.Member = 2048, "m"
	s.cfg.Hooks.Env = []string{
		"PATH=/bin", "GANGRUN_STEP=99", "GANGRUN_SIGNAL=SIGSEGV", "GANGRUN_MEMBER=old", "NOTIFY_SOCKET=/run/x", "GANGRUN_HOOK=on-exit",
		"GANGRUN_OUTCOME_FILE=/old",
	}
	env := s.hookEnvironment(full)
	file := filepath.Join(s.scratch.dir, "outcome.json")
	for name, want := range map[string]string{
		"PATH": "/bin", "GANGRUN_VERDICT": "retry", "GANGRUN_REASON": "OOMKilled", "GANGRUN_EXIT_CODE": "137",
		"GANGRUN_WORKER_EXIT_CODE": "1", "GANGRUN_SIGNAL": "SIGKILL", "GANGRUN_JOB_NAME": "j", "GANGRUN_NODE_NAME": "n",
		"GANGRUN_ROUND": "2", "GANGRUN_STEP": "70", "GANGRUN_CHECKPOINT_PATH": "/c/70", "GANGRUN_CHECKPOINT_STEP": "70",
		"GANGRUN_RESTARTS_USED": "3", "GANGRUN_OUTCOME_FILE": file, "GANGRUN_MEMBER": "m", "NOTIFY_SOCKET": "",
	} {
		if got := environ.Get(env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if m := environ.Get(env, "GANGRUN_MESSAGE"); !strings.HasPrefix(m, "rank 3 was killed : ") || strings.ContainsAny(m, "\x00\n\x1b") || !utf8.ValidString(m) || len(m) > 1024 {
		t.Errorf("message %q", m)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := exitcodes.ParseMessage(raw); err != nil || !reflect.DeepEqual(m.Round, full.Round) || m.Reason != full.Reason {
		t.Errorf("the file says %s: %v", raw, err)
	}

	env = s.hookEnvironment(exitcodes.Message{Verdict: exitcodes.Success})
	for _, entry := range env {
		if name, value, _ := strings.Cut(entry, "="); value == "" || name == "GANGRUN_STEP" || name == "GANGRUN_SIGNAL" || name == "GANGRUN_ROUND" {
			t.Errorf("%s is set although nothing is known", entry)
		}
	}
	seen := map[string]bool{}
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if seen[name] {
			t.Errorf("%s is set twice", name)
		}
		seen[name] = true
	}

	s.scratch.dir = ""
	if env = s.hookEnvironment(full); environ.Get(env, "GANGRUN_OUTCOME_FILE") != "" {
		t.Error("a file is named where there is none")
	}
}
