package checkpoint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// person is a directory as people have it, and what a person would resume from.
type person struct {
	Name, Given string
	Paths       []string // one of which is right; none: a fresh start; "65": the job asks which is meant
	Step        *int
	Failed      bool
}

// TestPeople starts a job on directories as people have them: names, copies, several runs, what is cut, written by the
// libraries that write such. Each start says in one line what it begins from. All with GANGRUN_TEST_LONG=1, else a part
// that the seed chooses.
func TestPeople(t *testing.T) {
	parallel(t)
	seed := strconv.FormatUint(setting(t, "GANGRUN_TEST_SEED", 1)%1000000, 10)
	share := "0.25"
	if os.Getenv("GANGRUN_TEST_LONG") != "" {
		share = "1"
	}
	for _, round := range []struct {
		script, python string
		all            int // directories that it writes where every library is installed
	}{
		{"people.py", "torch", 50},
		{"people.py", "jax", 3},
		{"people.py", "tensorflow", 3},
		{"people_loops.py", "torch", 49},
		{"people_more.py", "torch", 25},
		{"people_contents.py", "torch", 43},
		{"people_others.py", "torch", 10},
		{"people_others.py", "jax", 4},
		{"people_others.py", "tensorflow", 3},
		{"people_projects.py", "torch", 14},
		{"people_libraries.py", "torch", 41},
		{"people_libraries.py", "jax", 6},
		{"people_libraries.py", "tensorflow", 6},
	} {
		t.Run(round.script+", "+round.python, func(t *testing.T) {
			python, all := round.python, round.all
			script, err := filepath.Abs("testdata/" + round.script)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			env := []string{"OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1"}
			if python != "tensorflow" {
				env = append(env, "PYTHONPATH="+harness.Peer(t, "savers"))
			}
			r := harness.Run(t, 3*limit, env, harness.Peer(t, python+"/bin/python3"), script, dir, seed, share)
			data, err := os.ReadFile(filepath.Join(dir, "trees.json"))
			if err != nil {
				t.Fatalf("%v\n%s", err, r.Stderr)
			}
			var written struct {
				All   int
				Trees []person
			}
			if err := json.Unmarshal(data, &written); err != nil {
				t.Fatal(err)
			}
			if written.All < all {
				harness.Missing(t, python+": what writes "+strconv.Itoa(all-written.All)+" directories", "make peers")
			}
			for _, p := range written.Trees {
				if p.Failed {
					t.Errorf("%s was not written\n%s", p.Name, r.Stderr)
					continue
				}
				p.judge(t)
			}
		})
	}
}

func (p person) judge(t *testing.T) {
	t.Helper()
	r := harness.Run(t, limit, nil, harness.Binary(t), "run", "--checkpoint-dir", p.Given, "--", "sh", "-c",
		`echo "$GANGRUN_RESUME_DECISION|$GANGRUN_RESUME_PATH|$GANGRUN_RESUME_STEP"`)
	said := strings.Count(r.Stderr, `msg="resuming from checkpoint"`) + strings.Count(r.Stderr, "starting fresh")
	decision, rest, _ := strings.Cut(strings.TrimSpace(r.Stdout), "|")
	path, step, _ := strings.Cut(rest, "|")
	path = strings.TrimPrefix(path, p.Given+"/")
	right := false
	switch {
	case slices.Equal(p.Paths, []string{"65"}):
		right = r.Code == 65 && r.Stdout == "" && said == 0
	case len(p.Paths) == 0:
		right = r.Code == 0 && decision == "fresh" && said == 1
	default:
		fits := slices.ContainsFunc(p.Paths, func(pattern string) bool { match, _ := filepath.Match(pattern, path); return match })
		right = r.Code == 0 && decision == "resume" && said == 1 && fits && (p.Step == nil || step == strconv.Itoa(*p.Step))
	}
	if !right {
		t.Errorf("%s: exit code %d, %q, %v expected\n%s\n%s", p.Name, r.Code, r.Stdout, p.Paths, r.Stderr, tree(p.Given))
	}
}
