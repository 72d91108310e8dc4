package checkpoint_test

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/test/harness"
)

// saves are the formats of a library, and how often each is killed.
type saves struct {
	format  string
	detects string // what gangrun has to take it for
	anew    int    // kills where every save is another step
	inPlace int    // kills where every save is over the last one
	weights bool   // not to resume from: a model by itself
	each    bool   // a checkpoint is a directory to look into, and what is around them is the test's
	renames bool   // files are replaced by new ones: a save over the last one that was cut looks like a copy, and is doubted
}

func TestTorch(t *testing.T) {
	attackAll(t, "torch/bin/python3", "of_torch", []saves{
		{format: "torch.save", detects: "plain", anew: 12, inPlace: 12, weights: true},
		{format: "torch.save, legacy", detects: "plain", anew: 6, inPlace: 6, weights: true},
		{format: "safetensors", detects: "plain", anew: 10, inPlace: 10, weights: true},
		{format: "save_pretrained in shards", detects: "plain", anew: 6, inPlace: 10, weights: true, each: true, renames: true},
		{format: "DCP", detects: "dcp", anew: 10, inPlace: 12},
		{format: "DCP, async", detects: "dcp", anew: 8, inPlace: 8},
		{format: "DCP, 2 ranks", detects: "dcp", anew: 4, inPlace: 8},
		{format: "Trainer", detects: "hf_trainer", anew: 8, inPlace: 10, renames: true},
		{format: "Accelerate", detects: "accelerate", anew: 6, inPlace: 10, renames: true},
		{format: "Lightning", detects: "lightning", anew: 6, inPlace: 6},
	})
}

func TestTensorFlow(t *testing.T) {
	attackAll(t, "tensorflow/bin/python3", "of_tensorflow", []saves{
		{format: "CheckpointManager", detects: "tf_bundle", anew: 8, inPlace: 8},
		{format: "BackupAndRestore", detects: "keras_backup", inPlace: 10},
		{format: ".keras", detects: "plain", anew: 4, inPlace: 4},
		{format: ".weights.h5", detects: "plain", anew: 4, inPlace: 4},
	})
}

func TestJAX(t *testing.T) {
	attackAll(t, "jax/bin/python3", "of_jax", []saves{
		{format: "CheckpointManager", detects: "orbax", anew: 8, inPlace: 8},
	})
}

// setting is a number that the environment may set.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	if text := os.Getenv(name); text != "" {
		var err error
		if otherwise, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", name, otherwise)
	return otherwise
}

func attackAll(t *testing.T, python, module string, all []saves) {
	parallel(t)
	seed := setting(t, "GANGRUN_TEST_SEED", uint64(time.Now().UnixNano()))
	more := int(setting(t, "GANGRUN_TEST_KILLS", 1))
	lib := loadLibrary(t, python, module)
	kills, within := 0, 0
	for _, s := range all {
		t.Run(s.format, func(t *testing.T) {
			lib.t = t
			hash := fnv.New64a()
			hash.Write([]byte(s.format))
			random := rand.New(rand.NewPCG(seed, hash.Sum64()))
			for mode, times := range []int{s.anew, s.inPlace} {
				times *= more
				count := tally{}
				for i := range times {
					a := attack{Format: s.format, Directory: filepath.Join(t.TempDir(), "saved"), InPlace: mode == 1,
						By: []string{"clock", "operation"}[i%2], At: random.Float64()}
					if i == 0 {
						a.By = "end" // what is whole has to be called so, not only what is torn
					}
					if err := os.Mkdir(a.Directory, 0o777); err != nil {
						t.Fatal(err)
					}
					s.judge(t, lib, a, &count)
					_ = os.RemoveAll(a.Directory)
				}
				if times > 0 {
					t.Logf("%s: %d kills, %+v", []string{"another step each time", "in place"}[mode], times, count)
				}
				kills, within = kills+times, within+count.Within
			}
		})
	}
	if lib.t = t; within < kills/2 {
		t.Errorf("only %d of %d kills were within a save", within, kills)
	}
}

// tally counts what was seen.
type tally struct {
	Within     int // kills within a save
	Whole      int // checkpoints called whole, which were loaded
	Torn       int // not called whole, and not to be loaded either
	PassedOver int // not called whole, although they can be loaded
	Doubted    int // called whole with a doubt, and not to be loaded
}

// judge kills once, and compares what gangrun says with what the library can load.
func (s saves) judge(t *testing.T, lib *library, a attack, count *tally) {
	t.Helper()
	journal := lib.kill(a)
	last := journal[len(journal)-1]
	if last.Begin > 0 {
		count.Within++
	}
	found := s.look(t, a.Directory)
	// A loader that dies leaves those after it without an answer.
	slices.SortStableFunc(found, func(a, b format.Checkpoint) int { return cmp.Compare(s.order(a), s.order(b)) })
	paths := make([]string, len(found))
	for i, c := range found {
		paths[i] = c.Path
	}
	results := lib.load(s.format, paths)
	for i, c := range found {
		r := results[i]
		switch {
		case s.whole(c) && r.Error != "" && a.InPlace && s.renames && c.Doubt != "":
			count.Doubted++
		case s.whole(c) && r.Error != "":
			t.Errorf("%+v: %s is called whole (%s, doubt %q), and the library says: %s\n%s%+v", a, c.Path, c.Basis, c.Doubt, r.Error,
				tree(a.Directory), journal)
		case s.whole(c) && !a.InPlace && c.Step >= 0 && c.Step != int64(r.Generation):
			t.Errorf("%+v: %s is said to be of step %d, and is of %d", a, c.Path, c.Step, r.Generation)
		case s.whole(c):
			count.Whole++
		case r.Error == "":
			count.PassedOver++
		default:
			count.Torn++
		}
	}
	for _, path := range finished(journal, a.InPlace) {
		if !slices.ContainsFunc(found, func(c format.Checkpoint) bool {
			return s.whole(c) && (c.Path == path || s.each && filepath.Dir(c.Path) == path)
		}) {
			t.Errorf("%+v: %s was finished, and is not called whole: %+v\n%s", a, path, found, tree(a.Directory))
		}
	}
}

// finished is what has to be whole: the last one that was finished, unless it is being saved over.
func finished(journal []event, inPlace bool) []string {
	for i, e := range slices.Backward(journal) {
		if e.End > 0 && (!inPlace || i == len(journal)-1) {
			return []string{e.Path}
		}
	}
	return nil
}

// whole reports whether gangrun would resume from a checkpoint, or where it is one that nothing resumes
// from, whether it calls it complete. Of one that is being removed the weights may still be complete, and are called so.
func (s saves) whole(c format.Checkpoint) bool { return c.Complete && (c.Resumable || s.weights) }

// order puts what is whole first.
func (s saves) order(c format.Checkpoint) int {
	if s.whole(c) {
		return 0
	}
	return 1
}

// look asks gangrun. The paths of what it says are made absolute.
func (s saves) look(t *testing.T, directory string) (all []format.Checkpoint) {
	t.Helper()
	directories := []string{directory}
	if s.each {
		var err error
		if directories, err = filepath.Glob(filepath.Join(directory, "*")); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range directories {
		r := harness.Run(t, limit, nil, harness.Binary(t), "checkpoint", "ls", "-o", "json", dir)
		var listing struct {
			Format      string
			Checkpoints []format.Checkpoint
		}
		if err := json.Unmarshal([]byte(r.Stdout), &listing); r.Code != 0 || err != nil {
			t.Fatalf("exit code %d, %v\n%s\n%s", r.Code, err, r.Stdout, r.Stderr)
		}
		if len(listing.Checkpoints) > 0 && listing.Format != s.detects {
			t.Errorf("it takes %s for %s\n%s", s.detects, listing.Format, tree(directory))
		}
		for _, c := range listing.Checkpoints {
			c.Path = filepath.Join(dir, filepath.FromSlash(c.Path))
			all = append(all, c)
		}
	}
	return all
}

// tree shows a directory.
func tree(directory string) string {
	var b []byte
	_ = filepath.WalkDir(directory, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			name, _ := filepath.Rel(directory, path)
			b = append(info.ModTime().AppendFormat(b, "04:05.000000"), ' ')
			b = append(strconv.AppendInt(b, info.Size(), 10), " "+name+"\n"...)
		}
		return nil
	})
	return string(b)
}
