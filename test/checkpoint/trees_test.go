package checkpoint_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
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
	Own                   bool   // not a library's own form
	Loaded                *int64 // the step or the generation that the library has loaded
	Error                 string
}

// The kinds in which gangrun and a loader differ. Each is a row of docs/checkpoints.md, with what the loader does.
const (
	kindBefore   = "a whole file of the save before in the place of one of this, where nothing in it says its step"
	kindZeros    = "zeros in the second half of a safetensors file"
	kindInPlace  = "one of several files that are written over in place is missing"
	kindStates   = "Accelerate's `random_states_*`, missing or cut"
	kindTrainers = "the Trainer's `rng_state*`, missing"
)

// tolerated are the cases in which they may differ: of habits and in files that match patterns as of [path.Match], spoilt in
// one way. What is not here fails the test, and so does in a long run what is here and was not met.
var tolerated = []tolerance{
	{"DCP, SGD", "ckpt-300/__0_0.distcp", "the one before", true, kindBefore},
	{"DCP, optim", "step_300/__0_0.distcp", "the one before", true, kindBefore},
	{"DCP, 2 ranks", "save-3/__?_0.distcp", "the one before", true, kindBefore},
	{"checkpoint-N/ with parts", "checkpoint-300/model.pt", "the one before", true, kindBefore},
	{"ckpt_N_rankR.pt", "ckpt_300_rank?.pt", "the one before", true, kindBefore},
	{"model_N, optimizer_N", "model_300.pt", "the one before", true, kindBefore},
	{"step-N/ with safetensors", "step-300/model.safetensors", "the one before", true, kindBefore},
	{"step-N/ with safetensors", "step-300/trainer_state.json", "the one before", true, kindBefore}, // it says a step, and the weights none
	{"Accelerate", "checkpoint_3/model.safetensors", "the one before", true, kindBefore},
	{"Accelerate", "checkpoint_3/optimizer.bin", "the one before", true, kindBefore},
	{"Accelerate", "checkpoint_3/custom_checkpoint_0.pkl", "the one before", true, kindBefore},
	{"Trainer", "checkpoint-3/model.safetensors", "the one before", true, kindBefore},
	{"Trainer", "checkpoint-3/optimizer.pt", "the one before", true, kindBefore},
	{"save_pretrained in shards", "save-3/model-0000?-of-00005.safetensors", "the one before", true, kindBefore},
	{"safetensors", "model_3.safetensors", "zero tail", true, kindZeros},
	{"step-N/ with safetensors", "step-300/model.safetensors", "zero tail", true, kindZeros},
	{"Accelerate", "checkpoint_3/model.safetensors", "zero tail", true, kindZeros},
	{"Trainer", "checkpoint-3/model.safetensors", "zero tail", true, kindZeros},
	{"save_pretrained in shards", "save-3/model-0000?-of-00005.safetensors", "zero tail", true, kindZeros},
	{"latest/ in place", "latest/m*", "missing", true, kindInPlace},
	{"latest/ in place", "latest/optimizer.pt", "missing", true, kindInPlace},
	{"DeepSpeed, stage [123]", "global_step3/*_states.pt", "the one before", true, kindBefore},
	{"Trainer, adapter", "checkpoint-3/adapter_model.safetensors", "the one before", true, kindBefore},
	{"Trainer, adapter", "checkpoint-3/optimizer.pt", "the one before", true, kindBefore},
	{"Trainer, adapter", "checkpoint-3/adapter_model.safetensors", "zero tail", true, kindZeros},
	{"PEFT", "adapter-3/adapter_model.safetensors", "zero tail", true, kindZeros},
	{"Accelerate", "checkpoint_3/random_states_0.pkl", "missing", false, kindStates},
	{"Accelerate", "checkpoint_3/random_states_0.pkl", "empty", false, kindStates},
	{"Accelerate", "checkpoint_3/random_states_0.pkl", "half", false, kindStates},
	{"Accelerate", "checkpoint_3/random_states_0.pkl", "zero tail", false, kindStates},
	{"Accelerate", "checkpoint_3/random_states_0.pkl", "zeros", false, kindStates},
	{"Trainer*", "checkpoint-3/rng_state.pth", "missing", false, kindTrainers},
}

// tolerance is one case in which gangrun and a loader may differ.
type tolerance struct {
	habit, file, mutation string
	whole                 bool // gangrun calls it whole, and it is not what was saved; else it is refused, and loads
	kind                  string
}

func (d tolerance) fits(c spoilt, whole bool) bool {
	match, _ := path.Match(d.file, c.File)
	habit, _ := path.Match(d.habit, c.Habit)
	return match && habit && d.whole == whole && d.mutation == c.Mutation
}

// TestTolerated compares the kinds with those of docs/checkpoints.md.
func TestTolerated(t *testing.T) {
	page, err := os.ReadFile("../../docs/checkpoints.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rows, found := strings.Cut(string(page), "| kind | the loader | gangrun |\n|---|---|---|\n")
	if rows, _, _ = strings.Cut(rows, "\n\n"); !found {
		t.Fatal("the page has no table of kinds")
	}
	documented := map[string]bool{}
	for row := range strings.Lines(rows) {
		documented[strings.TrimSpace(strings.Split(row, "|")[1])] = true
	}
	kinds := map[string]bool{}
	for _, d := range tolerated {
		kinds[d.kind] = true
	}
	if !maps.Equal(documented, kinds) {
		t.Errorf("the page has %q, the test %q", slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(kinds)))
	}
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
	met := map[tolerance]bool{}
	for _, module := range []struct{ python, name, backend string }{
		{"torch", "habits", ""}, {"torch", "of_torch", ""}, {"torch", "of_deepspeed", ""}, {"torch", "of_peft", ""},
		{"tensorflow", "of_tensorflow", "tensorflow"}, {"jax", "of_jax", ""}, {"jax", "of_flax", ""},
		{"torch", "of_keras", "torch"}, {"jax", "of_keras", "jax"},
	} {
		t.Run(strings.TrimSpace(module.name+" "+module.backend), func(t *testing.T) {
			if module.name == "of_keras" && share != "1" {
				t.Skip("Keras on " + module.backend + ": make test-long")
			}
			rows := judgeTrees(t, module.python, module.name, module.backend, strconv.FormatUint(seed%1000000, 10), share, met)
			if module.name == "of_keras" {
				for i := range rows {
					rows[i].habit += ", on " + module.backend
				}
			}
			all = append(all, rows...)
		})
	}
	for _, d := range tolerated {
		if share == "1" && !met[d] && !t.Failed() {
			t.Errorf("%s: %s, %s: tolerated, and not met", d.habit, d.file, d.mutation)
		}
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

func judgeTrees(t *testing.T, python, module, backend, seed, share string, met map[tolerance]bool) (rows []row) {
	dir := t.TempDir()
	env := []string{"OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", "KERAS_BACKEND=" + backend}
	if python != "tensorflow" {
		env = append(env, "PYTHONPATH="+harness.Peer(t, "savers"))
	}
	script, err := filepath.Abs("testdata/trees.py")
	if err != nil {
		t.Fatal(err)
	}
	r := harness.Run(t, 20*time.Minute, env, harness.Peer(t, python+"/bin/python3"), script, module, dir, seed, share)
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
		wrong, whole := c.judge(t)
		i := slices.IndexFunc(tolerated, func(d tolerance) bool { return d.fits(c, whole) })
		switch {
		case wrong == "":
			n.agree++
		case i >= 0:
			n.tolerated++
			met[tolerated[i]] = true
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

// judge says where gangrun and the library differ, empty when they do not, and whether gangrun calls it whole.
func (c spoilt) judge(t *testing.T) (wrong string, whole bool) {
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
		// Nothing is there, or a file without a byte, without an ending.
		if gone := c.Mutation == "missing" || c.Mutation == "empty" && path.Ext(c.File) == ""; gone && c.File == c.Newest && c.Error != "" {
			return "", false
		}
		return fmt.Sprintf("it is not seen: %s", r.Stdout), false
	}
	k := listing.Checkpoints[i]
	weights := k.Complete && k.Reason == "weights_only" && !k.Training && !c.Own
	whole = k.Complete && (k.Resumable || weights)
	switch {
	case !whole && c.Error == "":
		return fmt.Sprintf("it loads, and is refused: %s: %s", k.Reason, k.Detail), whole
	case whole && c.Error != "":
		return "it is called whole, and the library says: " + c.Error, whole
	case whole && !weights && c.Mutation == "whole" && listing.Chosen != c.Newest:
		return "it is whole, and " + cmp.Or(listing.Chosen, "nothing") + " is chosen", whole
	case whole && c.Own && c.Loaded != nil && k.Step != *c.Loaded && k.Step != *c.Loaded/100:
		return fmt.Sprintf("the library loads step %d, and it is said to be %d", *c.Loaded, k.Step), whole
	}
	return "", whole
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
