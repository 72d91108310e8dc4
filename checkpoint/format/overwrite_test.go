package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// TestOverwrite refuses for the order of times only with proof: what is younger than the marker was there before, and
// was not still being written. A copy, one in which all times are the same, and what was added later stay whole, with a
// doubt.
func TestOverwrite(t *testing.T) {
	for _, tt := range []struct {
		path, marker, part string
		save               []op
		format             string
	}{
		{"step-100", "step-100/.metadata", "step-100/__0_0.distcp", dcpSave("step-100"), "dcp"},
		{"checkpoint-500", "checkpoint-500/trainer_state.json", "checkpoint-500/model.safetensors",
			hfSave("checkpoint-500", 500), ""},
		{"checkpoint_0", "checkpoint_0/random_states_0.pkl", "checkpoint_0/model.safetensors", accelerateSave("checkpoint_0"), ""},
		{"step_3", "step_3/.snapshot_metadata", "step_3/sharded/e_0", snapshotSave("step_3"), ""},
		{"ckpt-7", "ckpt-7.index", "ckpt-7.data-00000-of-00002", tfSave("ckpt-7", "checkpoint"), ""},
	} {
		for _, c := range []struct {
			name  string
			ops   []op
			knows bool // when files were made
			want  problem.Reason
			doubt bool
		}{
			{"as it was saved", nil, true, "", false},
			{"written over", []op{touched(tt.part)}, true, problem.OverwriteInProgress, true},
			{"written over, as far as can be told", []op{touched(tt.part)}, false, "", true},
			{"copied", []op{copied(tt.marker)}, true, "", true},
			{"copied to where nothing tells", []op{copied(tt.marker)}, false, "", true},
		} {
			d := newDisk(t)
			d.play(tt.save...)
			d.play(c.ops...)
			fsys := d.fs()
			if !c.knows {
				fsys = &bornFS{os.DirFS(d.root), &disk{}}
			}
			got := one(t, see(t, fsys, Options{Level: Manifests, Format: tt.format}), tt.path)
			switch {
			case got.Reason != c.want || got.Complete != (c.want == ""):
				t.Errorf("%s, %s: %q (%s), want %q", tt.path, c.name, got.Reason, got.Detail, c.want)
			case c.want == "" && c.doubt != strings.Contains(got.Doubt, "a copy, or a save"):
				t.Errorf("%s, %s: the doubt %q", tt.path, c.name, got.Doubt)
			}
		}
	}
}

// TestOverwriteStillWritten does not take a file that was made before the marker of a copy for one of an earlier save
// when it was still being copied.
func TestOverwriteStillWritten(t *testing.T) {
	d := newDisk(t)
	d.play(dcpSave("step-100")...)
	name := "step-100/__0_0.distcp"
	marker, err := os.Stat(d.path("step-100/.metadata"))
	d.must(err)
	for _, tt := range []struct {
		before, after time.Duration // of the marker: when it was made, and when it was written last
		want          problem.Reason
	}{
		{-oneWrite, slack + 1, problem.OverwriteInProgress},
		{0, oneWrite + time.Second, problem.OverwriteInProgress},
		{0, oneWrite - time.Second, ""},
		{1, time.Hour, ""},
	} {
		d.born[name] = marker.ModTime().Add(tt.before)
		at := marker.ModTime().Add(tt.after)
		d.must(os.Chtimes(d.path(name), at, at))
		if got := one(t, see(t, d.fs(), dcpOptions), "step-100"); got.Reason != tt.want {
			t.Errorf("made %v, written %v after the marker: %q (%s), want %q", tt.before, tt.after, got.Reason, got.Detail, tt.want)
		}
	}
}

// TestMade asks the file system itself.
func TestMade(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l := newLook(t.Context(), os.DirFS(dir), Options{})
	made, known := l.made("f")
	if since := time.Since(made); known && (since < -time.Minute || since > time.Minute) {
		t.Errorf("made %v ago", since)
	}
	t.Logf("known: %v", known)
	if _, known := l.made("none"); known {
		t.Error("a file that is not there was made")
	}
}
