package checkpoint

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/format"
)

var thisRun = Run{"job", "run1"}

func mustLook(t *testing.T, d *Directory, run Run) Report {
	t.Helper()
	r, err := d.Look(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustBegin(t *testing.T, d *Directory, from *int64) *format.Checkpoint {
	t.Helper()
	c, err := d.Begin(t.Context(), thisRun, From{Step: from})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDirectoryProgress is a job's life: a first start, checkpoints, a restart by a new process.
func TestDirectoryProgress(t *testing.T) {
	tr := newTree(t)
	d, _ := tr.directory()
	if r := mustLook(t, d, thisRun); len(r.Steps) != 0 || r.Reached != nil || r.Newest != nil || r.Veto != nil {
		t.Errorf("%+v", r)
	}
	if c := mustBegin(t, d, nil); c != nil {
		t.Errorf("%+v", c)
	}
	tr.save("step-1")
	tr.save("step-2")
	if r := mustLook(t, d, thisRun); !slices.Equal(r.Steps, []int64{2, 1}) || asJSON(t, r.Reached) != "2" || r.Newest.Path != "step-2" {
		t.Errorf("%s", asJSON(t, r))
	}
	// Another process of the same run finds them gone, and knows that there were some.
	tr.remove("step-1")
	tr.remove("step-2")
	d, _ = tr.directory()
	if r := mustLook(t, d, thisRun); len(r.Steps) != 0 || asJSON(t, r.Reached) != "2" || r.Newest != nil {
		t.Errorf("%s", asJSON(t, r))
	}
	// To another run that says nothing.
	d, _ = tr.directory()
	if r := mustLook(t, d, Run{"job", "run2"}); r.Reached != nil {
		t.Errorf("%s", asJSON(t, r))
	}
	if c, err := d.Begin(t.Context(), Run{"job", "run2"}, From{}); err != nil || c != nil {
		t.Errorf("%+v, %v", c, err)
	}
	tr.save("step-1")
	if r := mustLook(t, d, Run{"job", "run2"}); asJSON(t, r.Reached) != "1" {
		t.Errorf("%s", asJSON(t, r))
	}
}

// TestDirectoryRunUnknown remembers nothing for a run that has no id yet.
func TestDirectoryRunUnknown(t *testing.T) {
	tr := newTree(t, "step-1")
	d, _ := tr.directory()
	for _, run := range []Run{{}, {Job: "job"}, thisRun} {
		if r := mustLook(t, d, run); !slices.Equal(r.Steps, []int64{1}) || r.Reached != nil {
			t.Errorf("%s", asJSON(t, r))
		}
	}
	if tr.has(HistoryFile) {
		t.Errorf("before anything began it has written %s", tr.read(HistoryFile))
	}
}

// TestDirectoryOtherJob offers nothing, and says why.
func TestDirectoryOtherJob(t *testing.T) {
	tr := newTree(t, "step-1")
	d, _ := tr.directory()
	mustBegin(t, d, step(1))
	d, log := tr.directory()
	r := mustLook(t, d, Run{"other", "run1"})
	if len(r.Steps) != 0 || r.Veto == nil || !strings.Contains(r.Veto.Detail, "job job wrote here, and this is job other") || log.count("passed over") != 1 {
		t.Errorf("%s", asJSON(t, r))
	}
	mustLook(t, d, Run{"other", "run1"})
	if log.count("passed over") != 1 {
		t.Errorf("said again and again:\n%s", log.String())
	}
}

// TestDirectoryHistoryUnreadable says that the state is unknown, at every look, until it can be read.
func TestDirectoryHistoryUnreadable(t *testing.T) {
	tr := newTree(t, "step-1")
	w := watch(os.DirFS(tr.dir))
	d, _ := tr.directory()
	d.Scanner.FS = w
	w.fails[HistoryFile] = syscall.EIO
	for range 2 {
		if r, err := d.Look(t.Context(), thisRun); err == nil || !Unknown(err) {
			t.Errorf("%s, %v", asJSON(t, r), err)
		}
		if c, err := d.Begin(t.Context(), thisRun, From{Step: step(1)}); err == nil || !Unknown(err) {
			t.Errorf("%+v, %v", c, err)
		}
	}
	clear(w.fails)
	mustLook(t, d, thisRun)
}

// TestDirectoryBegin looks closely at what is begun from, once more.
func TestDirectoryBegin(t *testing.T) {
	tr := newTree(t)
	for _, s := range []string{"step-1", "step-2", "step-3?", "step-4", "step-5", "step-6", "step-7"} {
		tr.save(s)
	}
	d, _ := tr.directory()
	w := watch(os.DirFS(tr.dir))
	d.Scanner.FS = w
	if r := mustLook(t, d, thisRun); !slices.Equal(r.Steps, []int64{7, 6, 5, 4, 3, 2, 1}) {
		t.Errorf("%v", r.Steps)
	}
	// By its names and sizes step 3 is whole.
	if c, err := d.Begin(t.Context(), thisRun, From{Step: step(3)}); err == nil || Unknown(err) || !strings.Contains(err.Error(), "step-3") {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := d.Begin(t.Context(), thisRun, From{Step: step(8)}); err == nil || Unknown(err) || !strings.Contains(err.Error(), "step 8") {
		t.Errorf("%+v, %v", c, err)
	}
	tr.remove("step-7")
	if c, err := d.Begin(t.Context(), thisRun, From{Step: step(7)}); err == nil || Unknown(err) || !strings.Contains(err.Error(), "step-7") {
		t.Errorf("%+v, %v", c, err)
	}
	w.fails["step-6/w.safetensors"] = syscall.EIO
	if c, err := d.Begin(t.Context(), thisRun, From{Step: step(6)}); err == nil || !Unknown(err) {
		t.Errorf("%+v, %v", c, err)
	}
	if tr.has(HistoryFile) {
		t.Errorf("what failed was remembered: %s", tr.read(HistoryFile))
	}
	if c := mustBegin(t, d, step(2)); c.Path != "step-2" || c.Level != format.Manifests {
		t.Errorf("%+v", c)
	}
}

// TestDirectoryBack goes back behind checkpoints on purpose: they are not found again, by no process, until they are
// written again.
func TestDirectoryBack(t *testing.T) {
	tr := newTree(t, "step-1", "step-2", "step-3")
	d, log := tr.directory()
	mustBegin(t, d, step(3))
	if c := mustBegin(t, d, step(1)); c.Path != "step-1" {
		t.Errorf("%+v", c)
	}
	if log.count("a newer checkpoint stays where it is") != 2 || log.count("it is whole here, and an earlier one was chosen") != 2 {
		t.Errorf("%s", log.String())
	}
	for name, d := range map[string]*Directory{"the same process": d, "another one": first(tr.directory())} {
		if r := mustLook(t, d, thisRun); !slices.Equal(r.Steps, []int64{1}) || asJSON(t, r.Reached) != "1" || paths(r.Refused) != "step-3 quarantined, step-2 quarantined" {
			t.Errorf("%s: %s", name, asJSON(t, r))
		}
		if c, err := d.Begin(t.Context(), thisRun, From{Step: step(2)}); err == nil {
			t.Errorf("%s: begun from %+v", name, c)
		}
	}
	tr.save("step-2")
	if r := mustLook(t, d, thisRun); !slices.Equal(r.Steps, []int64{2, 1}) || asJSON(t, r.Reached) != "2" {
		t.Errorf("%s", asJSON(t, r))
	}
	mustBegin(t, d, step(2))
	if r := mustLook(t, first(tr.directory()), thisRun); !slices.Equal(r.Steps, []int64{2, 1}) || paths(r.Refused) != "step-3 quarantined" {
		t.Errorf("%s", asJSON(t, r))
	}
	if !tr.has("step-3/DONE") {
		t.Error("it was moved without being asked to")
	}
}

func first(d *Directory, _ *logged) *Directory { return d }

// TestDirectoryQuarantine moves what is newer, torn or whole; older ones stay.
func TestDirectoryQuarantine(t *testing.T) {
	tr := newTree(t, "step-1?", "step-2", "step-3", "step-4?", "step-5!")
	d, log := tr.directory()
	d.Quarantine = true
	mustBegin(t, d, step(2))
	if tr.has("step-3") || tr.has("step-4") || tr.has("step-5") || !tr.has("step-1") {
		t.Errorf("%s", log.String())
	}
	if n := tr.note("step-5"); n.Reason != "no_marker" || n.Step != 5 || n.Detail == "" || n.At.IsZero() {
		t.Errorf("%+v", n)
	}
	if tr.note("step-3").Reason != "quarantined" {
		t.Errorf("%s", log.String())
	}
	mustBegin(t, d, step(2))
	if n := log.count("moved a checkpoint aside"); n != 3 {
		t.Errorf("moved %d times:\n%s", n, log.String())
	}
	if r := mustLook(t, d, thisRun); !slices.Equal(r.Steps, []int64{2}) {
		t.Errorf("%s", asJSON(t, r))
	}
}

// TestDirectoryUnknownStays where it is: what cannot be read is not known to be bad.
func TestDirectoryUnknownStays(t *testing.T) {
	tr := newTree(t, "step-1", "step-2")
	d, _ := tr.directory()
	d.Quarantine = true
	w := watch(os.DirFS(tr.dir))
	d.Scanner.FS = w
	mustLook(t, d, thisRun)
	w.fails["step-2/w.safetensors"] = syscall.EIO
	if _, err := d.Begin(t.Context(), thisRun, From{Step: step(1)}); err != nil || !tr.has("step-2") {
		t.Errorf("%v", err)
	}
}

// TestDirectoryReadOnly continues without a memory, and says so once.
func TestDirectoryReadOnly(t *testing.T) {
	tr := newTree(t, "step-1")
	d, log := tr.directory()
	tr.put("file", nil)
	d.Path = filepath.Join(tr.dir, "file") // nothing can be written in it, not even by root
	mustBegin(t, d, step(1))
	tr.save("step-2")
	if r := mustLook(t, d, thisRun); asJSON(t, r.Reached) != "2" {
		t.Errorf("%s", asJSON(t, r))
	}
	if n := log.count("cannot keep beside the checkpoints"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
}

// TestDirectoryURL writes nothing, whatever there is to change.
func TestDirectoryURL(t *testing.T) {
	tr := newTree(t, "step-1", "step-2?", "step-3")
	d, log := tr.directory()
	d.Name, d.Path, d.Quarantine = "s3://bucket/run", "", true
	d.Within = func(rel string) string { return "s3://bucket/run/" + rel }
	before := asJSON(t, listFiles(t, tr.dir))
	c := mustBegin(t, d, step(1))
	if after := asJSON(t, listFiles(t, tr.dir)); after != before {
		t.Errorf("%s, was %s", after, before)
	}
	if full, root := d.Handed(c); full != "s3://bucket/run/step-1" || strings.TrimSuffix(root, "/.") != "s3://bucket/run" {
		t.Errorf("%s in %s", full, root)
	}
	if r := mustLook(t, d, thisRun); !slices.Equal(r.Steps, []int64{1}) || log.count("stays where it is") != 2 {
		t.Errorf("%s\n%s", asJSON(t, r), log.String())
	}
}

func TestHanded(t *testing.T) {
	d := Directory{Name: "c", Path: "/mnt/c"}
	for _, tt := range []struct{ path, in, full, root string }{
		{"step-1", ".", "/mnt/c/step-1", "/mnt/c"},
		{"run1/step-1", "run1", "/mnt/c/run1/step-1", "/mnt/c/run1"},
		{".", ".", "/mnt/c", "/mnt/c"},
	} {
		if full, root := d.Handed(&format.Checkpoint{Path: tt.path, Root: tt.in}); full != tt.full || root != tt.root {
			t.Errorf("%s: %s in %s", tt.path, full, root)
		}
	}
}

func listFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error { names = append(names, p); return err })
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestDirectoryPointer makes the frameworks read what was chosen: of two whole checkpoints the pointer names the newer.
func TestDirectoryPointer(t *testing.T) {
	torch := filetest.Torch([]byte("12345678"))
	index, data := filetest.Bundle([]string{"weights"})
	for _, tt := range []struct {
		format                string
		files                 map[string][]byte // for step 20 and, with 30 for 20, step 30
		pointer, newer, older string
	}{
		{"deepspeed", map[string][]byte{
			"global_step20/mp_rank_00_model_states.pt":                torch,
			"global_step20/zero_pp_rank_0_mp_rank_00_optim_states.pt": torch,
		}, "latest", "global_step30", "global_step20"},
		{"megatron", map[string][]byte{"iter_0000020/mp_rank_00/model_optim_rng.pt": torch},
			"latest_checkpointed_iteration.txt", "30", "20"},
		{"tf_bundle", map[string][]byte{"ckpt-20.index": index, "ckpt-20.data-00000-of-00001": data[0]},
			"checkpoint", bundleState, strings.Replace(bundleState, `path: "ckpt-30"`, `path: "ckpt-20"`, 1)},
	} {
		t.Run(tt.format, func(t *testing.T) {
			tr := newTree(t)
			for _, s := range []string{"20", "30"} {
				for _, name := range slices.Sorted(maps.Keys(tt.files)) { // TensorFlow's index comes last
					tr.put(strings.Replace(name, "20", s, 1), tt.files[name])
				}
			}
			tr.put(tt.pointer, []byte(tt.newer))
			d, log := tr.directory()
			d.Scanner.Options = format.Options{Format: tt.format}
			if r := mustLook(t, d, thisRun); !slices.Equal(r.Steps, []int64{30, 20}) {
				t.Fatalf("%s", asJSON(t, r))
			}
			mustBegin(t, d, step(30))
			if tr.read(tt.pointer) != tt.newer || tr.has(tt.pointer+previous) {
				t.Errorf("it named the right one, and is %q now", tr.read(tt.pointer))
			}
			c := mustBegin(t, d, step(20))
			if c.Step != 20 || tr.read(tt.pointer) != tt.older || tr.read(tt.pointer+previous) != tt.newer {
				t.Errorf("step %d: it is %q now, and %q was kept", c.Step, tr.read(tt.pointer), tr.read(tt.pointer+previous))
			}
			if log.count("the framework's pointer named another checkpoint") != 1 {
				t.Errorf("%s", log.String())
			}
			// The pointer is no obstacle to the next look.
			if r := mustLook(t, d, thisRun); !slices.Equal(r.Steps, []int64{20}) {
				t.Errorf("%s", asJSON(t, r))
			}
		})
	}
}

// TestNothing: files of no known format are listed, and then how to say that they are checkpoints.
func TestNothing(t *testing.T) {
	for want, of := range map[string]struct{ others, pattern string }{
		"nothing in it has a known format (a, b); this way":                     {"a b", "this way"},
		"nothing in it has a known format (a, b, c, d, e and 1 more); this way": {"a b c d e f", "this way"},
		"nothing in it has a known format (a)":                                  {"a", ""},
		"the directory is empty":                                                {"", "this way"},
	} {
		if says := nothing(Scan{Others: strings.Fields(of.others)}, of.pattern); says != want {
			t.Errorf("%q, want %q", says, want)
		}
	}
}
