package command

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/node"
)

// TestLinesForPeople are what gangrun says on a terminal: short, each thing once, nothing that could control it.
func TestLinesForPeople(t *testing.T) {
	for _, tt := range []struct {
		level slog.Level
		msg   string
		args  []any
		want  string
	}{
		{slog.LevelError, "rank 0 exited 1: ValueError: x", []any{"verdict", "fatal", "reason", "CodeError", "rule", "code.value", "evidence", "ValueError: x"},
			"gangrun: error: rank 0 exited 1: ValueError: x (fatal: CodeError, rule code.value)"},
		{slog.LevelError, "rank 0 was killed by SIGKILL", []any{"verdict", "retry", "reason", "OOMKilled", "evidence", "1 kill for memory"},
			"gangrun: error: rank 0 was killed by SIGKILL (retry: OOMKilled, 1 kill for memory)"},
		{slog.LevelInfo, "restarting", []any{"round", 1, "after", time.Duration(0), "used", 1, "max", 3},
			"gangrun: restarting (round 1, 1 of 3 restarts used)"},
		{slog.LevelWarn, "cannot x", []any{"err", "no such file"}, "gangrun: warning: cannot x (no such file)"},
		{slog.LevelInfo, "plain", nil, "gangrun: plain"},
		{slog.LevelInfo, "a\x1b[2Jb", []any{"stops_in", "1s"}, `gangrun: a\x1b[2Jb (stops in 1s)`},
		{slog.LevelDebug, "not shown", nil, ""},
	} {
		var plain, colour bytes.Buffer
		slog.New(newLines(&plain, slog.LevelInfo, false)).Log(t.Context(), tt.level, tt.msg, tt.args...)
		if got := strings.TrimSuffix(plain.String(), "\n"); got != tt.want {
			t.Errorf("%s\nwant\n%s", got, tt.want)
		}
		slog.New(newLines(&colour, slog.LevelInfo, true)).Log(t.Context(), tt.level, tt.msg, tt.args...)
		if tt.want != "" && (!strings.HasPrefix(colour.String(), "\x1b[") || strings.Count(colour.String(), "\n") != 1) {
			t.Errorf("%q", colour.String())
		}
	}
}

func TestASentenceOnce(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(once{slog.NewTextHandler(&b, nil)}).With("a", 1)
	log.Error("rank 0 exited 1: why", "evidence", "why", "verdict", "fatal")
	log.Error("rank 0 exited 1", "evidence", "why", "verdict", "fatal")
	if text := b.String(); strings.Count(text, "evidence=") != 1 || strings.Count(text, "verdict=fatal") != 2 || strings.Count(text, "a=1") != 2 {
		t.Error(text)
	}
}

// TestClosing is the last line about every kind of end.
func TestClosing(t *testing.T) {
	three, two, zero := 3, 2, 0
	start := time.Unix(0, 0)
	for _, tt := range []struct {
		name string
		m    exitcodes.Message
		cfg  supervisor.Config
		end  node.Ending
		want string
	}{
		{"a success", exitcodes.Message{Verdict: exitcodes.Success, Round: &zero}, supervisor.Config{}, node.Ending{}, ""},
		{"a success at once in a job's second run", exitcodes.Message{Verdict: exitcodes.Success, Round: &two}, supervisor.Config{}, node.Ending{}, ""},
		{"a success with restarts", exitcodes.Message{Verdict: exitcodes.Success, Round: &two, StartedAt: start, FinishedAt: start.Add(90 * time.Second)},
			supervisor.Config{}, node.Ending{}, "succeeded after 1m30s and 2 restarts"},
		{"a stop", exitcodes.Message{Verdict: exitcodes.Preempted, Message: "SIGTERM from outside", ExitCode: 143}, supervisor.Config{},
			node.Ending{}, "stopped, not failed: SIGTERM from outside; exits with 143; run it again to continue"},
		{"by rule", exitcodes.Message{Verdict: exitcodes.Fatal, Reason: "ImportError", ExitCode: 1, WorkerExitCode: &three, RootCause: &exitcodes.RootCause{Rule: "code.import"}},
			supervisor.Config{MaxRestarts: 3}, node.Ending{}, "not restarted: rule code.import says it would fail the same way again; exits with 1. What to do: install"},
		{"by its code", exitcodes.Message{Verdict: exitcodes.Fatal, Reason: "Error", ExitCode: 3, WorkerExitCode: &three}, supervisor.Config{MaxRestarts: 3},
			node.Ending{}, "not restarted: exit code 3 with no known cause counts as a failure that would repeat; exits with 3. What to do: read"},
		{"no restarts", exitcodes.Message{Verdict: exitcodes.Retry, Reason: "KilledBySIGSEGV", ExitCode: 139}, supervisor.Config{NoRestart: true},
			node.Ending{}, "no restarts are allowed (--max-restarts 0); exits with 139. What to do: allow restarts: --max-restarts 3"},
		{"left to the operator", exitcodes.Message{Verdict: exitcodes.Retry, Reason: "OOMKilled", ExitCode: 137}, supervisor.Config{NoRestart: true, MaxRestarts: 3},
			node.Ending{}, "retry, which --no-restart leaves to the operator; exits with 137. What to do: raise"},
		{"spent", exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonRestartBudgetExhausted, ExitCode: 210}, supervisor.Config{MaxRestarts: 3},
			node.Ending{Why: "1 of 1 restarts within 1h are used up", Limit: rendezvous.LimitWindow},
			"not restarted: 1 of 1 restarts within 1h are used up (--restart-window); exits with 210. What to do: fix"},
		{"spent by another node", exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonRestartBudgetExhausted, ExitCode: 137, RootCause: &exitcodes.RootCause{Node: "n1"}},
			supervisor.Config{MaxRestarts: 3}, node.Ending{Why: "3 of 3 are used up", Failure: "rank 5 was killed"},
			"not restarted: 3 of 3 are used up; on n1: rank 5 was killed; exits with 137. What to do: fix"},
		{"spent on what another try may help", exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonRestartBudgetExhausted, ExitCode: 139, RootCause: &exitcodes.RootCause{Reason: "KilledBySIGSEGV"}},
			supervisor.Config{MaxRestarts: 3}, node.Ending{Why: "3 of 3 are used up"}, "exits with 139. What to do: if native code crashes again, read"},
		{"spent on what passes", exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonRestartBudgetExhausted, ExitCode: 137, RootCause: &exitcodes.RootCause{Reason: "ServiceUnavailable"}},
			supervisor.Config{MaxRestarts: 3}, node.Ending{Why: "3 of 3 are used up"}, "exits with 137. What to do: fix what fails, or raise the limit"},
		{"no restarts for what another try may help", exitcodes.Message{Verdict: exitcodes.Retry, Reason: "NCCLError", ExitCode: 134}, supervisor.Config{},
			node.Ending{}, "What to do: allow restarts: --max-restarts 3; NCCL_DEBUG=INFO shows"},
		{"spent by a limit that another release knows", exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonRestartBudgetExhausted, ExitCode: 137},
			supervisor.Config{MaxRestarts: 3}, node.Ending{Why: "2 of 2 in a day are used up", Limit: "inDay"},
			"not restarted: 2 of 2 in a day are used up; exits with 137. What to do: fix"},
		{"spent on what nobody knows", exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonRestartBudgetExhausted, ExitCode: 210, RootCause: &exitcodes.RootCause{Reason: "Error"}},
			supervisor.Config{MaxRestarts: 3}, node.Ending{Why: "3 of 3 are used up"}, "exits with 210. What to do: read the worker's last output above\n"},
		{"a code that says retry", exitcodes.Message{Verdict: exitcodes.Retry, Reason: "Error", ExitCode: 200, WorkerExitCode: &three}, supervisor.Config{},
			node.Ending{}, "What to do: allow restarts: --max-restarts 3; read the worker's last output above\n"},
		{"a hook", exitcodes.Message{Verdict: exitcodes.Fatal, Reason: exitcodes.ReasonExitHookFailed, ExitCode: 92}, supervisor.Config{MaxRestarts: 3},
			node.Ending{}, "not restarted: the training has succeeded, and only a hook has failed; exits with 92. What to do: fix the hook"},
		{"another node's failure", exitcodes.Message{Verdict: exitcodes.Fatal, Reason: "ImportError", ExitCode: 1, RootCause: &exitcodes.RootCause{Node: "n1", Rule: "code.import"}},
			supervisor.Config{MaxRestarts: 3}, node.Ending{Failure: "rank 5 exited 1"},
			"not restarted: rule code.import says it would fail the same way again; on n1: rank 5 exited 1; exits with 1. What to do: install"},
		{"ended by hand", exitcodes.Message{Verdict: exitcodes.Fatal, Reason: rendezvous.ReasonStopped, ExitCode: 91}, supervisor.Config{MaxRestarts: 3},
			node.Ending{Why: "stopped by command of root@vm"}, "not restarted: stopped by command of root@vm; exits with 91. What to do: start"},
		{"a sick machine", exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonNodeUnhealthy, ExitCode: 214}, supervisor.Config{MaxRestarts: 3},
			node.Ending{Why: "no GPU", Alone: true}, "not restarted: no GPU; the job continues without this node; exits with 214. What to do: run elsewhere"},
		{"suspended", exitcodes.Message{Verdict: exitcodes.Suspended, Message: "the job is suspended; no rank has saved", ExitCode: 143}, supervisor.Config{},
			node.Ending{Why: "the job is suspended"}, "the job is suspended; exits with 143; start its nodes again"},
		{"an output that went to the terminal", exitcodes.Message{Verdict: exitcodes.Fatal, Reason: exitcodes.ReasonError, ExitCode: 3, WorkerExitCode: &three,
			Message: "the worker exited 3; " + exitcodes.Unseen}, supervisor.Config{MaxRestarts: 3},
			node.Ending{}, "What to do: run it again with 2>&1 | cat at its end, so that gangrun sees the output and can say why\n"},
		{"the same, and no restarts", exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonRetryableByRule, ExitCode: 210, WorkerExitCode: &three,
			Message: "the worker exited 3; " + exitcodes.Unseen + ", and what is unknown is retried"}, supervisor.Config{},
			node.Ending{}, "What to do: allow restarts: --max-restarts 3; run it again with 2>&1 | cat"},
		{"the store is lost", exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonStoreLost, ExitCode: 213}, supervisor.Config{MaxRestarts: 3},
			node.Ending{}, "not restarted: a node can do nothing without the store; exits with 213. What to do: check"},
		{"the store is lost, and no restarts", exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonStoreLost, ExitCode: 213}, supervisor.Config{},
			node.Ending{Why: "no etcd for 10m"}, "not restarted: no etcd for 10m; exits with 213. What to do: check"},
		{"no command", exitcodes.Message{Verdict: exitcodes.Fatal, Reason: exitcodes.ReasonNotFound, ExitCode: 127, Message: "cannot start trian: not found in PATH"},
			supervisor.Config{}, node.Ending{}, "What to do: check its spelling"},
		{"no torchrun", exitcodes.Message{Verdict: exitcodes.Fatal, Reason: exitcodes.ReasonNotFound, ExitCode: 127, Message: "cannot start torchrun: not found in PATH"},
			supervisor.Config{}, node.Ending{}, "What to do: run gangrun launch in place of torchrun, with the same flags, or install torch"},
		{"nodes are missing", exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonRendezvousTimeout, ExitCode: 211}, supervisor.Config{},
			node.Ending{Why: "1 of 2 nodes are there"}, "not restarted: 1 of 2 nodes are there; exits with 211. What to do: the message names them"},
	} {
		rounds := 1
		if tt.name == "a success with restarts" {
			rounds = 3
		}
		if _, got := closing(tt.m, tt.end, tt.cfg, rounds); tt.want == "" && got != "" || !strings.Contains(got+"\n", tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestLimitFlags wants a flag for every limit on restarts, and names none that does not exist.
func TestLimitFlags(t *testing.T) {
	flags := map[string]bool{}
	o := defaultOptions()
	for _, s := range o.runSettings() {
		flags[s.name] = true
	}
	for _, limit := range []rendezvous.Limit{
		rendezvous.LimitProgress, rendezvous.LimitWindow, rendezvous.LimitPreemptions, rendezvous.LimitSameFailure,
	} {
		if !flags[limitFlags[limit]] {
			t.Errorf("%s: no flag %q", limit, limitFlags[limit])
		}
	}
}
