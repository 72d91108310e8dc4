package run_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// sentence is how many words make one: fewer are a name, such as "the time limit of 4s".
const sentence = 6

// TestNothingIsSaidTwice is what people see of typical failures, on a terminal and in a log: no sentence is in gangrun's own
// lines twice. A failure that comes again after a restart is told again, since it is another one; and what was feared or
// waited for is told when it is certain.
func TestNothingIsSaidTwice(t *testing.T) {
	t.Parallel()
	python := harness.Program(t, "python3", "install python3")
	hangs, _ := filepath.Abs("testdata/hangs.py")
	again, _ := filepath.Abs("testdata/again.py")
	lost, _ := filepath.Abs("testdata/lost.sh")
	store := etcdserver.StartFor(t, "127.0.0.1", 1, nil).Endpoints()[0]
	for _, tt := range []struct {
		name   string
		code   int
		argv   []string
		worker []string
	}{
		{"a missing module", 1, []string{"run"}, []string{python, "-c", "import flash_attn_that_is_missing"}},
		{"a missing module under launch", 1, []string{"launch", "--nproc-per-node", "2", "--max-restarts", "3", "--no-python"},
			[]string{python, "-c", "import flash_attn_that_is_missing"}},
		{"a mistake", 1, []string{"local", "-n", "2"}, []string{python, "-c", "raise ValueError('it is the wrong shape for this layer')"}},
		{"SIGKILL", 137, []string{"run", "--max-restarts", "0"}, harness.Shell("kill -9 $$")},
		{"out of memory", 1, []string{"run"}, []string{python, "-c", "raise MemoryError('nothing is left of it')"}},
		{"out of GPU memory", 1, []string{"local", "-n", "2"},
			harness.Shell("echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB' >&2; exit 1")},
		{"a hang", 212, []string{"run", "--max-restarts", "0", "--hang-timeout", "2s"}, []string{python, hangs}},
		{"a fatal code", 2, []string{"run"}, harness.Shell("exit 2")},
		{"not found", 127, []string{"run"}, []string{"/no/such/command"}},
		{"the budget is spent", 137, []string{"run", "--max-restarts", "1", "--restart-backoff", "1ms"}, harness.Shell("kill -9 $$")},
		{"the window is full", 137, []string{"run", "--max-restarts", "9", "--restart-window", "1/1h", "--restart-backoff", "1ms"}, harness.Shell("kill -9 $$")},
		{"no progress", 90, []string{"run", "--max-restarts", "9", "--restart-backoff", "1ms"}, []string{python, again}},
		{"no checkpoint is left", 65, []string{"run", "--max-restarts", "3", "--restart-backoff", "1ms", "--checkpoint-dir", "CHECKPOINTS",
			"--checkpoint-pattern", "step-*", "--checkpoint-marker", "DONE"}, harness.Shell(". "+lost, "CHECKPOINTS")},
		{"nodes are missing", 211, []string{"run", "--nodes", "2", "--store", store, "--job", "JOB", "--join-timeout", "2s"}, []string{"true"}},
		{"the time limit", 143, []string{"run", "--time-limit", "1500ms", "--grace", "1s"}, []string{"sleep", "1000"}},
	} {
		for _, where := range []string{"terminal", "pipe"} {
			t.Run(tt.name+"/"+where, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				argv := append([]string{tt.argv[0], "--termination-log", dir + "/message"}, tt.argv[1:]...)
				if tt.argv[0] != "launch" {
					argv = append(argv, "--")
				}
				argv = append(argv, tt.worker...)
				for i := range argv {
					argv[i] = strings.NewReplacer("CHECKPOINTS", dir+"/checkpoints", "JOB", where).Replace(argv[i])
				}
				if err := os.Mkdir(dir+"/checkpoints", 0o755); err != nil {
					t.Fatal(err)
				}
				code, shown := watch(t, where == "terminal", argv)
				if code != tt.code {
					t.Errorf("it exits with %d, want %d", code, tt.code)
				}
				said := own(shown)
				if len(said) == 0 {
					t.Error("gangrun says nothing")
				}
				for _, twice := range repeated(said) {
					t.Errorf("it says twice: %q", twice)
				}
				if n := errorLines(shown); n > 2 {
					t.Errorf("%d lines of an error: the failure is one, and why it was not restarted is the other", n)
				}
				if t.Failed() {
					t.Logf("%s", shown)
				}
			})
		}
	}
}

// watch is all that a gangrun shows, on a terminal or not.
func watch(t *testing.T, terminal bool, argv []string) (code int, shown string) {
	t.Helper()
	if !terminal {
		r := harness.Run(t, time.Minute, nil, append([]string{harness.Binary(t)}, argv...)...)
		return r.Code, r.Stderr
	}
	term := harness.OpenTerminal(t, time.Minute)
	cmd := exec.Command(harness.Binary(t), argv...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.Program, term.Program, term.Program
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	term.Program.Close()
	shown = term.All()
	_ = cmd.Wait() // the caller compares its exit code
	return cmd.ProcessState.ExitCode(), shown
}

var (
	fields  = regexp.MustCompile(`([a-z_]+)=("(?:[^"\\]|\\.)*"|\S*)`)
	later   = regexp.MustCompile(`restarting|half of the limit has passed|the job waits`) // the next line is of another time
	of      = regexp.MustCompile(`failed \(exitcode: |: stopping them`)                   // a rank's failure for itself; what leads to one
	control = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]`)
)

// own are the sentences of gangrun's own lines, those of a round in one list.
func own(shown string) (rounds [][]string) {
	var said []string
	for line := range strings.SplitSeq(control.ReplaceAllString(strings.ReplaceAll(shown, "\r", "\n"), ""), "\n") {
		switch person, ours := strings.CutPrefix(line, "gangrun: "); {
		case ours:
			said = append(said, person)
		case strings.HasPrefix(line, "time=") && strings.Contains(line, " level="):
			for _, f := range fields.FindAllStringSubmatch(line, -1) {
				said = append(said, strings.Trim(f[2], `"`))
			}
		default:
			continue
		}
		if later.MatchString(line) {
			rounds, said = append(rounds, said), nil
		}
	}
	return append(rounds, said)
}

// errorLines is how many of gangrun's own lines tell of an error since it began or was told to start again.
func errorLines(shown string) (n int) {
	for line := range strings.SplitSeq(control.ReplaceAllString(strings.ReplaceAll(shown, "\r", "\n"), ""), "\n") {
		switch {
		case later.MatchString(line):
			n = 0
		case of.MatchString(line):
		case strings.HasPrefix(line, "gangrun: error: "), strings.HasPrefix(line, "time=") && strings.Contains(line, " level=ERROR "):
			n++
		}
	}
	return n
}

// repeated are the sentences that are in one round twice.
func repeated(rounds [][]string) (twice []string) {
	for _, said := range rounds {
		seen := map[string]bool{}
		for _, text := range said {
			words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" \t()\",;:", r) })
			for i := 0; i+sentence <= len(words); i++ {
				some := strings.Join(words[i:i+sentence], " ")
				if seen[some] {
					twice = append(twice, some)
				}
				seen[some] = true
			}
		}
	}
	return twice
}

// TestErrorLines: the lines that the test above counts are found.
func TestErrorLines(t *testing.T) {
	for shown, want := range map[string]int{
		"gangrun: error: a\ngangrun: error: the job is over\ngangrun: error: not restarted\n":       3,
		"time=1 level=ERROR msg=a\ntime=2 level=INFO msg=restarting\ntime=3 level=ERROR msg=b\n":    1,
		"a line of the worker: level=ERROR\ngangrun: warning: w\ngangrun: stopped, not failed: x\n": 0,
	} {
		if got := errorLines(shown); got != want {
			t.Errorf("%q: %d, want %d", shown, got, want)
		}
	}
}

// TestRepeated: what the test above looks for is found.
func TestRepeated(t *testing.T) {
	for shown, want := range map[string]int{
		"gangrun: error: rank 1 exited 1: no such file\ngangrun: error: not restarted: rank 1 exited 1: no such file\n":            2,
		"time=1 level=ERROR msg=\"rank 1 exited 1: no such file\" evidence=\"rank 1 exited 1: no such file\"\n":                    2,
		"gangrun: rank 1 exited 1: no such\ngangrun: restarting\nrank 1 exited 1: no such\ngangrun: rank 1 exited 1: no such file": 0,
	} {
		if got := repeated(own(shown)); len(got) != want {
			t.Errorf("%q: %s", shown, fmt.Sprint(got))
		}
	}
}
