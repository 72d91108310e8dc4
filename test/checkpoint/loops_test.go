package checkpoint_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// began is what a loop says of each of its starts.
type began struct {
	Path     string
	Step     int // of the weights that it has loaded
	Decision string
}

// inPlace are the habits in which the next save is written over the last one: what is cut then was the only one.
var inPlace = map[string]bool{
	"checkpoint.pt in place": true, "ckpt.pt of nanoGPT": true, "last.pt of YOLO": true, "snapshot.pt of the DDP tutorial": true,
	"checkpoint.pkl": true, "latest/ in place": true, "imagenet": true,
}

// TestLoops runs loops as people write them, which are killed in training, within a save and within the first save: each
// resumes at the right step or exits with 65, and none starts over once there had been a whole state. On two nodes the second
// shares the directory, saves nothing, and has to be given the same. All of them with GANGRUN_TEST_LONG=1, else some.
func TestLoops(t *testing.T) {
	parallel(t)
	l := loops{python: harness.Peer(t, "torch/bin/python3"), savers: harness.Peer(t, "savers")}
	var err error
	if l.script, err = filepath.Abs("testdata/loop.py"); err != nil {
		t.Fatal(err)
	}
	seed := setting(t, "GANGRUN_TEST_SEED", 1) // the same sample each time: what it finds is a change of ours
	for nodes, run := range map[string]func(t *testing.T, habit, how, dir string) (harness.Result, []began){
		"": l.alone, ", two nodes": l.together,
	} {
		random := rand.New(rand.NewPCG(seed, uint64(len(nodes))))
		for _, habit := range habits(t) {
			for _, how := range []string{"training", "save", "first"} {
				if os.Getenv("GANGRUN_TEST_LONG") == "" && random.IntN(15) != 0 {
					continue
				}
				t.Run(habit+", "+how+nodes, func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "saved")
					if err := os.Mkdir(dir, 0o777); err != nil {
						t.Fatal(err)
					}
					r, starts := run(t, habit, how, dir)
					judgeLoop(t, habit, how, r, starts, dir)
				})
			}
		}
	}
}

// judgeLoop looks at how a loop ended, and where it began.
func judgeLoop(t *testing.T, habit, how string, r harness.Result, starts []began, dir string) {
	said := fmt.Sprintf("exit code %d, %+v\n%s\n%s", r.Code, starts, r.Stderr, tree(dir))
	want := map[string]int{"training": 200, "save": 200, "first": 0}[how]
	switch {
	case r.Code == 65 && len(starts) == 1 && how == "save" && inPlace[habit]:
	case r.Code != 0 || len(starts) != 2:
		t.Error(said)
	case starts[1].Step != want && !(how != "training" && starts[1].Step == 100 && habit == "imagenet"): // one of its two files is whole
		t.Errorf("it resumed at %d, want %d: %s", starts[1].Step, want, said)
	case how == "first" && !strings.Contains(r.Stderr, "starting fresh"):
		t.Errorf("it did not say that it starts fresh: %s", said)
	case how != "first" && !strings.Contains(r.Stderr, "resuming from checkpoint"):
		t.Errorf("it did not say what it resumes from: %s", said)
	}
}

// loops is what a loop needs to run.
type loops struct{ python, savers, script string }

func (l loops) env() []string {
	return []string{"PYTHONPATH=" + l.savers, "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1"}
}

func (l loops) alone(t *testing.T, habit, how, dir string) (harness.Result, []began) {
	journal := filepath.Join(t.TempDir(), "journal")
	r := harness.Run(t, limit, l.env(), harness.Binary(t), "run", "--max-restarts", "2", "--checkpoint-dir", dir,
		"--", l.python, l.script, habit, dir, journal, how)
	return r, readJournal(t, journal)
}

// together runs it on the node a, and beside it on b a rank that loads what it is given.
func (l loops) together(t *testing.T, habit, how, dir string) (harness.Result, []began) {
	endpoint := freeAddress(t)
	journals := t.TempDir()
	var nodes []*harness.Running
	for _, name := range []string{"a", "b"} {
		part := map[string]string{"a": how, "b": "beside"}[name]
		nodes = append(nodes, harness.Job{Env: l.env(), Flags: []string{"--nodes", "2", "--endpoint", endpoint, "--node", name,
			"--job", "loops", "--max-restarts", "2", "--restart-backoff", "1ms:2ms", "--checkpoint-dir", dir},
			Worker: []string{l.python, l.script, habit, dir, filepath.Join(journals, name), part}}.Start(t, limit))
	}
	a, b := nodes[0].End(), nodes[1].End()
	starts, beside := readJournal(t, filepath.Join(journals, "a")), readJournal(t, filepath.Join(journals, "b"))
	if a.Code != b.Code || !slices.Equal(starts, beside) {
		t.Errorf("a exits with %d and began at %+v, b with %d and %+v\n%s", a.Code, starts, b.Code, beside, b.Stderr)
	}
	return a.Result, starts
}

// freeAddress is one on loopback that nobody listened on a moment ago.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	return l.Addr().String()
}

// habits are the names of those in testdata/habits.py.
func habits(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/habits.py")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "HABITS = {\n")
	table, _, closed := strings.Cut(table, "\n}\n")
	if !found || !closed {
		t.Fatal("testdata/habits.py has no table HABITS")
	}
	for line := range strings.SplitSeq(table, "\n") {
		if rest, ok := strings.CutPrefix(line, `    "`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			names = append(names, name)
		}
	}
	return names
}

func readJournal(t *testing.T, name string) (starts []began) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var b began
		if err := json.Unmarshal([]byte(line), &b); err != nil {
			t.Fatal(err)
		}
		starts = append(starts, b)
	}
	return starts
}
