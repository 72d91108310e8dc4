package checkpoint_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/test/harness"
)

// spoilt is a tree of checkpoints of which one file of the newest was spoilt, and what the library makes of it.
type spoilt struct {
	Habit, File, Mutation string
	Tree, Newest, Before  string
	Step                  int64
	Own                   bool // not a library's own form
	Error                 string
}

// tolerated are the kinds in which gangrun and a loader may differ, by what is spoilt and how. Each is in
// docs/checkpoints.md, with what the loader does.
var tolerated = []struct {
	habit, file, mutation string // parts of the names; empty fits all
	whole                 bool   // gangrun calls it whole, and it is not what was saved; else it is refused, and loads
	why                   string
}{
	{"", "", "the one before", true, "a whole file of the save before, in the place of this one's, is not told from it where nothing in it says its step"},
	{"", ".safetensors", "zero tail", true, "safetensors has no sums: zeros load as numbers"},
	{"in place", "", "missing", true, "of several files that are written over nothing says how many there have to be"},
	{"", ".h5", "zero tail", true, "HDF5 has no sums: zeros in less than its second half are not seen"},
	{"Accelerate", "random_states", "", false, "Accelerate goes on with other random numbers, and logs that"},
	{"Accelerate", "scheduler", "", false, "it is part of the training"},
	{"Trainer", "scheduler", "", false, "the Trainer skips the optimizer as well, in silence"},
	{"Trainer", "optimizer", "", false, "the Trainer begins with a new optimizer, in silence"},
	{"Trainer", "rng_state", "", false, "the Trainer goes on with other random numbers, in silence"},
	{"Trainer", "", "the one before", false, "its trainer_state.json is of another step than its directory"},
}

// TestTrees lets the loaders of real libraries judge: what gangrun calls whole has to load, and what loads must not be
// refused. All of it with GANGRUN_TEST_LONG=1, else a part that the seed chooses. GANGRUN_TEST_TABLE=FILE writes the table
// of docs/checkpoints.md.
func TestTrees(t *testing.T) {
	parallel(t)
	seed := setting(t, "GANGRUN_TEST_SEED", 1) // the same sample each time: what it finds is a change of ours
	share := "0.03"
	if os.Getenv("GANGRUN_TEST_LONG") != "" {
		share = "1"
	}
	var all []row
	for _, module := range []struct{ python, name string }{
		{"torch/bin/python3", "habits"}, {"torch/bin/python3", "of_torch"},
		{"tensorflow/bin/python3", "of_tensorflow"}, {"jax/bin/python3", "of_jax"},
	} {
		t.Run(module.name, func(t *testing.T) {
			all = append(all, judgeTrees(t, module.python, module.name, strconv.FormatUint(seed%1000000, 10), share)...)
		})
	}
	if name := os.Getenv("GANGRUN_TEST_TABLE"); name != "" {
		if err := os.WriteFile(name, []byte(table(all)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// row counts what came of one habit.
type row struct {
	habit                            string
	trees, agree, tolerated, against int
}

func judgeTrees(t *testing.T, python, module, seed, share string) (rows []row) {
	dir := t.TempDir()
	env := []string{"OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1"}
	if strings.HasPrefix(python, "torch/") {
		env = append(env, "PYTHONPATH="+harness.Peer(t, "savers"))
	}
	script, err := filepath.Abs("testdata/trees.py")
	if err != nil {
		t.Fatal(err)
	}
	r := harness.Run(t, 20*time.Minute, env, harness.Peer(t, python), script, module, dir, seed, share)
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Stderr)
	}
	var answer struct {
		Missing string
		Cases   []spoilt
		Failed  []struct{ Habit, Error string }
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Missing != "" {
		harness.Missing(t, module+": "+answer.Missing, "run test/peers/install")
	}
	for _, f := range answer.Failed {
		t.Errorf("%s was not saved: %s", f.Habit, f.Error)
	}
	counts := map[string]*row{}
	for _, c := range answer.Cases {
		n := counts[c.Habit]
		if n == nil {
			n = &row{habit: c.Habit}
			counts[c.Habit] = n
		}
		n.trees++
		switch wrong, known := c.judge(t); {
		case wrong == "":
			n.agree++
		case known:
			n.tolerated++
		default:
			n.against++
			t.Errorf("%s: %s, %s: %s", c.Habit, c.File, c.Mutation, wrong)
		}
	}
	for _, n := range counts {
		rows = append(rows, *n)
	}
	return rows
}

// judge says where gangrun and the library differ, empty when they do not, and whether that is a kind that is known.
func (c spoilt) judge(t *testing.T) (wrong string, known bool) {
	t.Helper()
	r := harness.Run(t, limit, nil, harness.Binary(t), "checkpoint", "ls", "-o", "json", c.Tree)
	var listing struct {
		Chosen      string
		Checkpoints []format.Checkpoint
	}
	if err := json.Unmarshal([]byte(r.Stdout), &listing); err != nil {
		return fmt.Sprintf("exit code %d, %v: %s", r.Code, err, r.Stderr), false
	}
	i := slices.IndexFunc(listing.Checkpoints, func(k format.Checkpoint) bool { return k.Path == c.Newest })
	if i < 0 {
		return fmt.Sprintf("it is not seen: %s", r.Stdout), c.Mutation != "whole" && c.File == c.Newest
	}
	k := listing.Checkpoints[i]
	weights := k.Complete && k.Reason == "weights_only" && !k.Training && !c.Own
	whole := k.Complete && (k.Resumable || weights)
	switch {
	case whole == (c.Error == "") && c.Mutation != "whole":
		return "", false
	case whole && c.Error == "" && !weights && listing.Chosen != c.Newest:
		return "it is whole, and " + cmp.Or(listing.Chosen, "nothing") + " is chosen", false
	case whole && c.Error == "" && c.Own && k.Step != c.Step && k.Step != c.Step/100:
		return fmt.Sprintf("its step is %d, and said to be %d", c.Step, k.Step), false
	case whole && c.Error == "":
		return "", false
	case whole:
		wrong = "it is called whole, and the library says: " + c.Error
	default:
		wrong = fmt.Sprintf("it loads, and is refused: %s: %s", k.Reason, k.Detail)
	}
	return wrong, slices.ContainsFunc(tolerated, func(d struct {
		habit, file, mutation string
		whole                 bool
		why                   string
	}) bool {
		return d.whole == whole && strings.Contains(c.Habit, d.habit) && strings.Contains(c.File, d.file) && (d.mutation == "" || d.mutation == c.Mutation)
	})
}

// table is what docs/checkpoints.md shows.
func table(rows []row) string {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.habit, b.habit) })
	var b strings.Builder
	b.WriteString("| saved as | trees | judged as the loader does | of a kind below | otherwise |\n|---|---|---|---|---|\n")
	sum := row{habit: "all"}
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", r.habit, r.trees, r.agree, r.tolerated, r.against)
		sum.trees, sum.agree, sum.tolerated, sum.against = sum.trees+r.trees, sum.agree+r.agree, sum.tolerated+r.tolerated, sum.against+r.against
	}
	fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", sum.habit, sum.trees, sum.agree, sum.tolerated, sum.against)
	return b.String()
}
