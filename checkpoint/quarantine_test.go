package checkpoint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// note is what lies beside a checkpoint that was moved aside.
type note struct {
	Path           string
	Step           int64
	Reason, Detail string
	At             time.Time
}

func (tr *tree) note(name string) (n note) {
	tr.t.Helper()
	if err := json.Unmarshal([]byte(tr.read(QuarantineDir+"/"+name+".json")), &n); err != nil {
		tr.t.Fatal(err)
	}
	return n
}

func TestQuarantine(t *testing.T) {
	tr := newTree(t, "step-1", "step-2", "run1/step-3")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	torn := format.Checkpoint{Path: "step-2", Step: 2, Reason: problem.Truncated, Detail: "w is short"}
	if moved, err := quarantine(tr.dir, torn, at); err != nil || !moved {
		t.Fatal(moved, err)
	}
	if tr.has("step-2") || !tr.has("quarantine/step-2/DONE") || !tr.has("step-1/DONE") {
		t.Error("not moved, or not that one")
	}
	if n := tr.note("step-2"); n != (note{"step-2", 2, "truncated", "w is short", at}) {
		t.Errorf("%+v", n)
	}

	// Another node was faster.
	if moved, err := quarantine(tr.dir, torn, at); err != nil || moved || tr.has("quarantine/step-2.1.json") {
		t.Errorf("what is gone was moved again: %v", err)
	}

	// It was written again, and is as bad: the first one is kept.
	tr.save("step-2!")
	if _, err := quarantine(tr.dir, torn, at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if !tr.has("quarantine/step-2/DONE") || !tr.has("quarantine/step-2.1/w.safetensors") || tr.note("step-2.1").At != at.Add(time.Hour) {
		t.Error("the second one is not beside the first one")
	}

	// A whole one behind which training goes has no reason of its own; one below another directory keeps its place.
	if _, err := quarantine(tr.dir, format.Checkpoint{Path: "run1/step-3", Step: 3}, at); err != nil {
		t.Fatal(err)
	}
	if n := tr.note("run1/step-3"); n.Reason != string(problem.Quarantined) || !tr.has("quarantine/run1/step-3/DONE") || tr.has("run1/step-3") {
		t.Errorf("%+v", n)
	}

	if _, err := quarantine(tr.dir, format.Checkpoint{Path: ".", Step: 3}, at); err == nil || !strings.Contains(err.Error(), "not one directory or file") {
		t.Errorf("the whole directory was moved: %v", err)
	}

	tr = newTree(t)
	if moved, err := quarantine(tr.dir, torn, at); err != nil || moved || tr.has(QuarantineDir) {
		t.Errorf("there was nothing to move: %v", err)
	}
}

// TestQuarantineOfSeveralFiles moves what belongs together by its stem, and leaves what cannot be told.
func TestQuarantineOfSeveralFiles(t *testing.T) {
	tr := newTree(t)
	for _, name := range []string{"ckpt-1.index", "ckpt-1.data-00000-of-00001", "ckpt-10.index", "ckpt-10.data-00000-of-00001"} {
		tr.put(name, []byte(name))
	}
	if moved, err := quarantine(tr.dir, format.Checkpoint{Format: "tf_bundle", Path: "ckpt-1"}, time.Now()); err != nil || !moved {
		t.Fatal(moved, err)
	}
	for _, name := range []string{"quarantine/ckpt-1.index", "quarantine/ckpt-1.data-00000-of-00001", "quarantine/ckpt-1.json",
		"ckpt-10.index", "ckpt-10.data-00000-of-00001"} {
		if !tr.has(name) {
			t.Errorf("%s is missing", name)
		}
	}
	tr.put("ep1-ba10-rank0.pt", nil)
	if moved, err := quarantine(tr.dir, format.Checkpoint{Format: "composer", Path: "ep1-ba10-rank0.pt"}, time.Now()); err == nil || moved {
		t.Errorf("one rank's file was moved: %v, %v", moved, err)
	}
}

// TestQuarantineOverwritesNothing, not even what a person has put there without a note.
func TestQuarantineOverwritesNothing(t *testing.T) {
	tr := newTree(t)
	tr.put("last.ckpt", []byte("new"))
	tr.put("quarantine/last.ckpt", []byte("old"))
	if _, err := quarantine(tr.dir, format.Checkpoint{Path: "last.ckpt"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := tr.read("quarantine/last.ckpt"); got != "old" {
		t.Errorf("it is %q now", got)
	}
}

// TestQuarantineRace lets several nodes move the same ones: each is moved once, and nobody fails.
func TestQuarantineRace(t *testing.T) {
	for range 20 {
		tr := newTree(t, "step-1", "step-2")
		var nodes sync.WaitGroup
		for range 4 {
			nodes.Go(func() {
				for _, p := range []string{"step-1", "step-2"} {
					if _, err := quarantine(tr.dir, format.Checkpoint{Path: p}, time.Now()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		nodes.Wait()
		moved, err := filepath.Glob(filepath.Join(tr.dir, QuarantineDir, "*", "DONE"))
		if err != nil || len(moved) != 2 {
			t.Fatalf("%q, %v", moved, err)
		}
		if left, err := os.ReadDir(filepath.Join(tr.dir, QuarantineDir)); err != nil || len(left) != 4 {
			t.Fatalf("%v, %v", left, err)
		}
	}
}
