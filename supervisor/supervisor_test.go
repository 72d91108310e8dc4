package supervisor

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/shared"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/output"
	"github.com/gangrun/gangrun/supervisor/process"
)

// These tests run real processes, one run at a time: wait4 belongs to one supervisor. What is decided is tested in package
// node, without processes; here it is what is done about it.

// trial is one run.
type trial struct {
	cfg     Config
	signals chan os.Signal
	out     shared.Buffer
	err     shared.Buffer
	ended   []Round
	message exitcodes.Message
	spec    rendezvous.Spec
	made    func(*Supervisor)
}

// theReaper is the test process's only one: two would take the statuses of each other's processes.
var theReaper = func() func(*testing.T) *process.Reaper {
	once := sync.OnceValues(process.NewReaper)
	return func(t *testing.T) *process.Reaper {
		t.Helper()
		reaper, err := once()
		if err != nil {
			t.Fatal(err)
		}
		return reaper
	}
}()

// shell is a gang of commands for sh.
func shell(commands ...string) func(*agent.Start) ([]Worker, error) {
	return func(*agent.Start) ([]Worker, error) {
		var workers []Worker
		for i, c := range commands {
			workers = append(workers, Worker{Rank: i, LocalRank: i, Argv: []string{"sh", "-c", c}, Env: os.Environ(), NoInput: true})
		}
		return workers, nil
	}
}

func newTrial(t *testing.T, workers func(*agent.Start) ([]Worker, error)) *trial {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chdir(dir) })
	r := &trial{signals: make(chan os.Signal, 8)}
	r.spec = rendezvous.Spec{MinNodes: 1, MaxNodes: 1, Fence: rendezvous.Duration(time.Minute), JoinTimeout: rendezvous.Duration(time.Minute), Restarts: rendezvous.Restarts{Never: true}}
	r.cfg = Config{
		Job: "j", Node: "n", Alone: true, Dir: dir, Workers: workers, StartedAt: time.Now(),
		Grace: 5 * time.Second, RestartGrace: time.Second, Leftovers: LeftoversKill, Scope: ScopeWorker,
		SilentRestart: SilentRestartFatal, StopSignals: []unix.Signal{unix.SIGTERM, unix.SIGINT},
		Hooks: Hooks{Timeout: 10 * time.Second, Env: os.Environ()}, NoRestart: true,
		Rules: exitcodes.BuiltinRules, TerminationLog: filepath.Join(t.TempDir(), "log"), MessageMax: 2048,
		Log: slog.New(slog.NewTextHandler(&r.err, nil)), Signals: r.signals,
		RoundEnded: func(round Round) { r.ended = append(r.ended, round) },
	}
	return r
}

// run runs to the end and returns the exit code.
func (r *trial) run(t *testing.T) int {
	t.Helper()
	memory := store.NewInMemory()
	a := agent.Join(t.Context(), agent.Config{
		Connect: func(context.Context) (store.Store, error) { return memory.Connect(store.Boottime), nil },
		Name:    "n", Spec: r.spec, Log: slog.New(slog.NewTextHandler(&r.err, nil)), Job: "j", Namespace: "default",
		Node: rendezvous.Node{Incarnation: "i", Slots: 1, Address: "127.0.0.1"},
	})
	defer a.Close()
	r.cfg.Agent = a
	s := newSupervisor(r.cfg, theReaper(t), output.NewConsole(&r.out, output.ConsoleOptions{}), output.NewConsole(&r.err, output.ConsoleOptions{}))
	if r.made != nil {
		r.made(s)
	}
	code := s.Run()
	if data, err := os.ReadFile(r.cfg.TerminationLog); err == nil {
		r.message, _ = exitcodes.ParseMessage(data)
	}
	if r.message.ExitCode != code && r.cfg.TerminationLog != "" {
		t.Errorf("exits with %d, and the message says %+v\n%s", code, r.message, r.err.String())
	}
	return code
}

func TestRun(t *testing.T) {
	for name, tt := range map[string]struct {
		commands []string
		code     int
		says     string
	}{
		"success":            {[]string{"echo hello"}, 0, ""},
		"a code":             {[]string{"exit 3"}, 3, "rank 0 exited 3"},
		"a signal":           {[]string{"kill -9 $$"}, 137, "rank 0 was killed by SIGKILL"},
		"one of two":         {[]string{"exec sleep 60", "exit 4"}, 4, "rank 1 exited 4"},
		"leftovers":          {[]string{"sleep 60 & exit 0"}, 0, ""},
		"its own error file": {[]string{`echo '{"message":{"message":"ValueError: bad","extraInfo":{"py_callstack":"x","timestamp":"'$(date +%s)'"}}}' >"$TORCHELASTIC_ERROR_FILE"; exit 1`}, 1, "ValueError"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTrial(t, shell(tt.commands...))
			if code := r.run(t); code != tt.code || !strings.Contains(r.message.Message, tt.says) {
				t.Errorf("exits with %d: %q; want %d, %q\n%s", code, r.message.Message, tt.code, tt.says, r.err.String())
			}
			if name == "success" && r.out.String() != "hello\n" {
				t.Errorf("%q", r.out.String())
			}
			if len(r.ended) != 1 || len(r.ended[0].Workers) != len(tt.commands) || r.ended[0].Workers[0].PID == 0 {
				t.Errorf("%+v", r.ended)
			}
		})
	}
}

// TestRestarts restarts in place until the budget is spent.
func TestRestarts(t *testing.T) {
	r := newTrial(t, shell("exit 130"))
	r.cfg.NoRestart, r.cfg.MaxRestarts = false, 2
	r.spec.Restarts = rendezvous.Restarts{Max: 2, Exhausted: rendezvous.ExhaustedRetry}
	if code := r.run(t); code != 130 || len(r.ended) != 3 || r.message.Restarts.Used != 2 || r.message.Reason != exitcodes.ReasonRestartBudgetExhausted {
		t.Errorf("exits with %d after %d rounds: %+v", code, len(r.ended), r.message)
	}
}

// TestObserve sees every step, in order and with what it leads to.
func TestObserve(t *testing.T) {
	r := newTrial(t, shell("exit 0"))
	var events []string
	r.cfg.Observe = func(_ time.Time, ev node.Event, effects []node.Effect) {
		events = append(events, fmt.Sprintf("%T", ev))
	}
	r.run(t)
	got := strings.Join(events, " ")
	for _, want := range []string{"node.Begin node.Prepared node.Forked", "node.Exited", "node.Judged", "node.End node.Flushed"} {
		if !strings.Contains(strings.ReplaceAll(got, " node.Reported", ""), want) {
			t.Errorf("%s does not come: %s", want, got)
		}
	}
}

// TestStopped sends the signal once the worker says that it is ready.
func TestStopped(t *testing.T) {
	for name, tt := range map[string]struct {
		command string
		grace   time.Duration
		says    string
	}{
		"it saves":     {`trap 'echo saved; exit 0' TERM; echo ready >"$F"; while :; do sleep 0.01; done`, 5 * time.Second, "SIGTERM from outside"},
		"it is deaf":   {`trap '' TERM; echo ready >"$F"; while :; do sleep 0.01; done`, 50 * time.Millisecond, "SIGTERM from outside"},
		"its leavings": {`trap 'exit 0' TERM; (trap "" TERM; echo ready >"$F"; sleep 60) & while :; do sleep 0.01; done`, 200 * time.Millisecond, "SIGTERM from outside"},
	} {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "ready")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("F", fifo)
			r := newTrial(t, shell(tt.command))
			r.cfg.Grace = tt.grace
			go func() {
				_, _ = os.ReadFile(fifo)
				r.signals <- unix.SIGTERM
			}()
			if code := r.run(t); code != 143 || r.message.Verdict != exitcodes.Preempted || !strings.Contains(r.message.Message, tt.says) {
				t.Errorf("exits with %d: %+v", code, r.message)
			}
		})
	}
}

// TestPathThatDoesNotAnswer is a FIFO where a log file should be: the worker starts without it, and that is said.
func TestPathThatDoesNotAnswer(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newTrial(t, func(start *agent.Start) ([]Worker, error) {
		workers, err := shell("echo out")(start)
		workers[0].Stdout.File = fifo
		workers[0].Stderr.Filter = &Filter{File: fifo, Contains: []string{"x"}}
		return workers, err
	})
	if code := r.run(t); code != 0 || r.out.String() != "out\n" || !strings.Contains(r.err.String(), "the worker starts without it") {
		t.Errorf("exits with %d, %q\n%s", code, r.out.String(), r.err.String())
	}
	if f, err := os.OpenFile(fifo, os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil { // lets the threads go that wait
		_ = f.Close()
	}
}

// TestFiles keeps the output, and chosen lines of it, beside the console.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	r := newTrial(t, func(start *agent.Start) ([]Worker, error) {
		workers, err := shell("echo one; echo error two; echo three >&2")(start)
		workers[0].Stdout = Sink{File: dir + "/a/out", Prefix: "[0] ", Filter: &Filter{File: dir + "/b/filtered", Contains: []string{"error"}}}
		workers[0].Stderr = Sink{Hidden: true, File: dir + "/a/err"}
		return workers, err
	})
	r.run(t)
	for file, want := range map[string]string{"a/out": "one\nerror two\n", "a/err": "three\n", "b/filtered": "error two\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(got), strings.TrimSpace(want)) {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if r.out.String() != "[0] one\n[0] error two\n" {
		t.Errorf("%q", r.out.String())
	}
}

// TestCannotStart is what a shell would exit with, before any worker runs.
func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"bad": "#!/no/such/interpreter\n", "plain": "exit 0\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]int{
		"no-such-command": 127, dir + "/bad": 127, dir: 126, dir + "/fifo": 126, dir + "/plain": 0,
	} {
		r := newTrial(t, func(*agent.Start) ([]Worker, error) {
			first := Worker{Rank: 0, Argv: []string{"sleep", "60"}, Env: os.Environ(), NoInput: true}
			second := Worker{Rank: 1, Argv: []string{path}, Env: os.Environ(), NoInput: true}
			if code == 0 {
				return []Worker{second}, nil
			}
			return []Worker{first, second}, nil
		})
		if got := r.run(t); got != code {
			t.Errorf("%s: exits with %d, want %d: %s", path, got, code, r.message.Message)
		}
	}
	r := newTrial(t, func(*agent.Start) ([]Worker, error) { return nil, io.ErrUnexpectedEOF })
	if code := r.run(t); code != exitcodes.CodeNodeUnhealthy {
		t.Errorf("exits with %d: %+v", code, r.message)
	}
}

// TestErrorFileOfBefore is one that the user named and that was there: it is somebody else's, whatever its time.
func TestErrorFileOfBefore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "error.json")
	text := `{"message":{"message":"MemoryError: theirs","extraInfo":{"py_callstack":"x","timestamp":"1"}}}`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	future := time.Now().Add(time.Hour) // a file server whose clock is ahead
	if err := os.Chtimes(file, future, future); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TORCHELASTIC_ERROR_FILE", file)
	r := newTrial(t, shell("exit 5"))
	if r.run(t); strings.Contains(r.message.Message, "theirs") {
		t.Errorf("%q", r.message.Message)
	}
	r = newTrial(t, shell(fmt.Sprintf(`touch %s; exit 1`, file))) // what it holds is older than the worker
	if r.run(t); strings.Contains(r.message.Message, "theirs") {
		t.Errorf("%q", r.message.Message)
	}
	past := time.Now().Add(-time.Hour) // and one whose clock is behind
	r = newTrial(t, shell(fmt.Sprintf(`sed "s/theirs/ours/; s/:\"1\"/:\"$(date +%%s)\"/" %s >%[1]s.new; touch -d @%d %[1]s.new; mv %[1]s.new %[1]s; exit 1`, file, past.Unix())))
	if r.run(t); !strings.Contains(r.message.Message, "ours") {
		t.Errorf("%q", r.message.Message)
	}
}

// TestHooksOfARun has the outcome in the environment of hooks that run after the workers.
func TestHooksOfARun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "told")
	r := newTrial(t, shell("exit 3"))
	r.cfg.Hooks.OnExit = [][]string{{"sh", "-c", `echo "$GANGRUN_HOOK $GANGRUN_VERDICT $GANGRUN_EXIT_CODE" >>` + file}, {"no-such-hook"}, {"sh", "-c", "sleep 60 & exit 9"}}
	r.cfg.Hooks.OnJobEnd = [][]string{{"sh", "-c", "kill -9 $$"}}
	if code := r.run(t); code != 3 {
		t.Errorf("exits with %d", code)
	}
	if told, _ := os.ReadFile(file); string(told) != "on-exit fatal 3\n" {
		t.Errorf("the hook was told %q", told)
	}
	if got := fmt.Sprint(r.message.Hooks); got != "[{on-exit:sh 0} {on-exit:no-such-hook 127} {on-exit:sh 9} {on-job-end:sh 137}]" {
		t.Errorf("%s", got)
	}
}

// TestReports takes the steps that a worker tells, and its silent restart.
func TestReports(t *testing.T) {
	r := newTrial(t, shell(`python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect(os.environ["NOTIFY_SOCKET"]); s.send(b"X_GANGRUN_STEP=41"); s.send(b"X_GANGRUN_STEP=many")'; exit 3`))
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("python3 is missing: install python3")
	}
	if r.run(t); r.message.Step == nil || *r.message.Step != 41 || !strings.Contains(r.err.String(), "report that cannot be read") {
		t.Errorf("%+v\n%s", r.message.Step, r.err.String())
	}
}

// TestStateDirectory keeps the message there, too.
func TestStateDirectory(t *testing.T) {
	r := newTrial(t, shell("exit 3"))
	r.cfg.StateDir = t.TempDir()
	r.run(t)
	data, err := os.ReadFile(filepath.Join(r.cfg.StateDir, "n.json"))
	if m, parseErr := exitcodes.ParseMessage(data); err != nil || parseErr != nil || m.ExitCode != 3 {
		t.Errorf("%s, %v, %v", data, err, parseErr)
	}
}

// TestKill is what is done when gangrun itself fails: nothing of the workers stays.
func TestKill(t *testing.T) {
	r := newTrial(t, shell("exec sleep 60"))
	var s *Supervisor
	r.cfg.Observe = func(_ time.Time, ev node.Event, _ []node.Effect) {
		if _, ok := ev.(node.Forked); ok {
			s.Kill()
		}
	}
	r.made = func(made *Supervisor) { s = made }
	if code := r.run(t); code != 137 {
		t.Errorf("exits with %d", code)
	}
}
