// Package hang_test has real jobs of torch get nowhere, in the ways in which they do: they are ended in time, and what is
// said names the rank and the function. What only takes its time is left alone.
package hang_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// limit is many times what one job takes on an idle machine.
const limit = 4 * time.Minute

// margin is for a machine that does something else.
const margin = 2 * time.Second

var parallel = harness.Turns(2)

func TestMain(m *testing.M) {
	harness.ClearEnvironment()
	os.Exit(m.Run())
}

// long skips what make test has no time for.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("GANGRUN_TEST_LONG") == "" {
		t.Skip("jobs that hang in every way: make test-long")
	}
}

// gang is a job of four ranks.
type gang struct {
	how, sign string
	flags     []string
	env       []string
}

type ended struct {
	harness.Result
	exitcodes.Message
	dir string // of the logs
}

func (g gang) run(t *testing.T) ended {
	t.Helper()
	parallel(t)
	dir := t.TempDir()
	script := harness.Script(t, "gang.py")
	log := filepath.Join(dir, "message")
	argv := append([]string{harness.Binary(t), "local", "-n", "4", "--termination-log", log, "--log-dir", dir}, g.flags...)
	argv = append(argv, "--", harness.Peer(t, "torch/bin/python3"), script, g.how, g.sign)
	res := harness.Run(t, limit, append([]string{"OMP_NUM_THREADS=1"}, g.env...), argv...)
	return ended{res, harness.Message(t, log), dir}
}

var (
	stuckAt = regexp.MustCompile(`stuck at ([0-9.]+)`)
	endedAt = regexp.MustCompile(`time=(\S+) level=(?:ERROR|WARN) msg="the workers make no progress`)
)

// within fails the test unless the job was acted on so soon after it got stuck.
func (e ended) within(t *testing.T, most time.Duration) {
	t.Helper()
	stuck, acted := stuckAt.FindStringSubmatch(e.Stdout), endedAt.FindStringSubmatch(e.Stderr)
	if stuck == nil || acted == nil {
		t.Fatalf("it was not stuck, or not ended:\n%s\n%s", e.Stdout, e.Stderr)
	}
	seconds, _ := strconv.ParseFloat(stuck[1], 64)
	at, err := time.Parse(time.RFC3339Nano, acted[1])
	if err != nil {
		t.Fatal(err)
	}
	if took := at.Sub(time.UnixMilli(int64(seconds * 1000))); took > most+margin {
		t.Errorf("acted on after %v, want %v", took, most)
	} else {
		t.Logf("acted on after %v", took)
	}
}

// says fails the test unless the message has all that.
func (e ended) says(t *testing.T, code int, reason string, texts ...string) {
	t.Helper()
	if e.Code != code || e.Reason != reason {
		t.Errorf("exit code %d, %s; want %d, %s: %s\n%s", e.Code, e.Reason, code, reason, e.Message.Message, e.Stderr)
	}
	for _, text := range texts {
		if !strings.Contains(e.Message.Message, text) {
			t.Errorf("%q is not in %q", text, e.Message.Message)
		}
	}
}

// stacks fails the test unless that many ranks have left theirs beside the logs.
func (e ended) stacks(t *testing.T, want int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(e.dir, "hang_*_round0_*", "rank*-stacks.txt"))
	if err != nil || len(files) != want {
		t.Errorf("stacks of %q, want %d (%v)", files, want, err)
	}
	states, _ := filepath.Glob(filepath.Join(e.dir, "hang_*_round0_*", "state.txt"))
	if len(states) != 1 {
		t.Fatalf("%q, want one state.txt", states)
	}
	if text, err := os.ReadFile(states[0]); err != nil || !strings.Contains(string(text), "where the ranks stand:") || !strings.Contains(string(text), "waits in: ") {
		t.Errorf("%v: %s", err, text)
	}
}

// ways are the ways to hang, and what is said of each.
var ways = []struct {
	how    string
	code   int
	reason string
	says   []string
	stacks int
}{
	{"sleep", 212, exitcodes.ReasonHang, []string{"rank 2 made no progress", "sleep_in_step (gang.py:", "the others in all_reduce"}, 4},
	{"spin", 212, exitcodes.ReasonHang, []string{"rank 2 made no progress", "spin_in_c (gang.py:", "the others in all_reduce"}, 4},
	{"loader", 212, exitcodes.ReasonHang, []string{"rank 2 made no progress", "(pt_data_worker) is stopped", "load (gang.py:"}, 4},
	{"raise", 1, exitcodes.ReasonError, []string{"rank 2 had failed, and did not end: ValueError: no such column"}, 4},
	{"destroy", 212, exitcodes.ReasonHang, []string{"rank 2 made no progress", "it is in destroy_process_group (gang.py:"}, 1},
	{"leave", 212, exitcodes.ReasonHang, []string{"rank 2 made no progress", "leaves_the_collective (gang.py:", "the others in all_reduce"}, 4},
	{"exit", 212, exitcodes.ReasonHang, []string{"all_reduce", "rank 2 had exited 0, and the others may wait for it"}, 3},
}

// TestSteps: the ranks tell their steps.
func TestSteps(t *testing.T) {
	for _, way := range ways {
		t.Run(way.how, func(t *testing.T) {
			if way.how != "sleep" && way.how != "spin" && way.how != "loader" { // with TestExits and TestNodes these are five
				long(t)
			}
			e := gang{how: way.how, sign: "told", flags: []string{"--hang-timeout", "3s", "--max-restarts", "0"}}.run(t)
			e.says(t, way.code, way.reason, way.says...)
			most := 5 * time.Second
			if way.how == "destroy" {
				most += 2 * time.Second // the ends of the others are progress, too
			}
			e.within(t, most)
			e.stacks(t, way.stacks)
		})
	}
}

// TestExits: a rank has failed, or is done, and does not end. That is seen where it tells no steps, too.
func TestExits(t *testing.T) {
	const failed = "rank 2 had failed, and did not end: ValueError: no such column"
	for _, test := range []struct {
		how, sign string
		flags     []string
		code      int
		reason    string
		says      []string
		log       string
	}{
		{"raise", "output", nil, 1, exitcodes.ReasonError, []string{failed}, "rank 2 has failed and does not end; it does nothing for "},
		{"raise", "told", nil, 1, exitcodes.ReasonError, []string{failed}, "rank 2 has failed and does not end; it does nothing for "},
		{"raise", "output", []string{"--hang", "observe", "--time-limit", "30s", "--grace", "1s"}, 143, exitcodes.ReasonPreempted, nil, "a worker appears to hang at its exit"},
		{"linger", "told", nil, 0, exitcodes.ReasonSucceeded, nil, "a worker has finished and does not end"},
		{"destroy", "told", []string{"--hang-timeout", "30s"}, 0, exitcodes.ReasonSucceeded, nil, "a worker has finished and does not end"}, // all of it is saved
	} {
		t.Run(test.how+" "+test.sign+" "+strings.Join(test.flags, " "), func(t *testing.T) {
			if test.how != "raise" || test.sign != "output" || test.flags != nil {
				long(t)
			}
			dir := t.TempDir()
			flags := append([]string{"--exit-timeout", "3s", "--max-restarts", "0"}, test.flags...)
			if test.how == "destroy" {
				flags = append(flags, "--checkpoint-dir", dir, "--checkpoint-pattern", "step-*.pt")
			}
			e := gang{how: test.how, sign: test.sign, flags: flags, env: []string{"CHECKPOINTS=" + dir}}.run(t)
			e.says(t, test.code, test.reason, test.says...)
			if !strings.Contains(e.Stderr, test.log) {
				t.Errorf("%q is not in %s", test.log, e.Stderr)
			}
			if test.code == 1 {
				e.within(t, 15*time.Second) // on a busy machine the end of Python, which is work, takes some of that
				e.stacks(t, 4)
			}
		})
	}
}

// TestOutputAlone: what they print is all there is.
func TestOutputAlone(t *testing.T) {
	long(t)
	for _, way := range ways {
		t.Run(way.how, func(t *testing.T) {
			e := gang{how: way.how, sign: "output", flags: []string{"--hang", "act", "--hang-timeout", "20s", "--max-restarts", "0"}}.run(t)
			e.says(t, way.code, way.reason, way.says...)
			most := 22 * time.Second
			if way.how == "destroy" {
				most += 2 * time.Second // the ends of the others are progress, too
			}
			e.within(t, most)
			e.stacks(t, way.stacks)
		})
	}
}

// TestLines: what they print shows their steps.
func TestLines(t *testing.T) {
	long(t)
	e := gang{how: "sleep", sign: "lines", flags: []string{"--step-regex", `^step: (\d+) done`, "--hang-timeout", "3s", "--max-restarts", "0"}}.run(t)
	e.says(t, 212, exitcodes.ReasonHang, "rank 2 made no progress", "all reported step 29", "sleep_in_step")
	e.within(t, 5*time.Second)
}

// TestResumes: after the hang the job resumes from its checkpoint, to its end.
func TestResumes(t *testing.T) {
	long(t)
	dir := t.TempDir()
	e := gang{how: "sleep", sign: "told", env: []string{"CHECKPOINTS=" + dir}, flags: []string{
		"--hang-timeout", "3s", "--checkpoint-dir", dir, "--checkpoint-pattern", "step-*.pt",
	}}.run(t)
	e.says(t, 0, exitcodes.ReasonSucceeded)
	if strings.Count(e.Stdout, "resumed at 20") != 4 || strings.Count(e.Stdout, "stuck at") != 1 || !strings.Contains(e.Stderr, "rank 2 made no progress") {
		t.Errorf("%s\n%s", e.Stdout, e.Stderr)
	}
}

// TestObserved: what is only observed runs on, and the evidence is there.
func TestObserved(t *testing.T) {
	long(t)
	e := gang{how: "sleep", sign: "told", flags: []string{"--hang", "observe", "--hang-timeout", "3s", "--time-limit", "40s", "--grace", "1s"}}.run(t)
	e.says(t, 143, exitcodes.ReasonPreempted)
	if !strings.Contains(e.Stderr, "the workers appear to hang") || strings.Contains(e.Stderr, "Fatal Python error") {
		t.Error(e.Stderr)
	}
}

// TestTakesItsTime: a slow first step, an evaluation, a checkpoint of one rank for which the others wait, a traceback that
// was survived: all of them longer than the limit.
func TestTakesItsTime(t *testing.T) {
	long(t)
	e := gang{how: "healthy", sign: "told", flags: []string{"--hang-timeout", "3s", "--max-restarts", "0"}}.run(t)
	e.says(t, 0, exitcodes.ReasonSucceeded)
	if strings.Contains(e.Stderr, "make no progress") || strings.Count(e.Stdout, "done\n") != 4 {
		t.Errorf("%s\n%s", e.Stdout, e.Stderr)
	}
}

// TestLaunch: without restarts, which is torchrun's default, a hang is the end.
func TestLaunch(t *testing.T) {
	long(t)
	parallel(t)
	dir := t.TempDir()
	script := harness.Script(t, "gang.py")
	log := filepath.Join(dir, "message")
	res := harness.Run(t, limit, []string{"OMP_NUM_THREADS=1", "PYTHON_EXEC=" + harness.Peer(t, "torch/bin/python3")},
		harness.Binary(t), "launch", "--standalone", "--nproc-per-node", "4", "--log-dir", dir, "--hang-timeout", "3s",
		"--termination-log", log, script, "sleep", "told")
	e := ended{res, harness.Message(t, log), filepath.Join(dir, "*")}
	e.says(t, 212, exitcodes.ReasonHang, "rank 2 made no progress", "sleep_in_step")
	e.stacks(t, 4)
}

// TestTorchrun: the ranks are below a torchrun, which is to see nothing of their deaths.
func TestTorchrun(t *testing.T) {
	long(t)
	parallel(t)
	dir := t.TempDir()
	script := harness.Script(t, "gang.py")
	e := harness.Job{
		Env:    []string{"OMP_NUM_THREADS=1"},
		Flags:  []string{"--hang-timeout", "3s", "--max-restarts", "0", "--log-dir", dir},
		Worker: []string{harness.Peer(t, "torch/bin/torchrun"), "--standalone", "--nproc-per-node", "4", script, "sleep", "told"},
	}.Run(t, limit)
	e.Want(t, 212, exitcodes.Retry, exitcodes.ReasonHang)
	if n := strings.Count(e.Stderr, "Fatal Python error: Aborted"); n != 4 {
		t.Errorf("%d dumps, want 4: %s", n, e.Stderr)
	}
}
