package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCloses(t *testing.T) {
	dir := t.TempDir()
	c := watchCloses(dir)
	if c == nil {
		t.Fatal("no watch")
	}
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("once")
	write("twice")
	write("twice")
	write("moving")
	if err := os.Rename(filepath.Join(dir, "moving"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]bool{"once": {true, true}, "twice": {false, true}, "moved": {false, true}, "none": {true, false}} {
		if first, known := c.first(name); first != want[0] || known != want[1] {
			t.Errorf("%s: first %v, known %v", name, first, known)
		}
	}
	if watchCloses(filepath.Join(dir, "nothing")) != nil {
		t.Error("a directory that is not there is watched")
	}
	if _, known := (*closes)(nil).first("x"); known {
		t.Error("nothing is known without a watch")
	}
}

// TestFirstSave: a file that was just made may be of its first save, and one that was made long before it was written
// last is not.
func TestFirstSave(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "checkpoint.pt")
	if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !FirstSave(dir, "checkpoint.pt") {
		t.Skip("birth times of files are missing: run the tests on ext4, xfs or btrfs")
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, info.ModTime(), info.ModTime().Add(2*firstSlack)); err != nil {
		t.Fatal(err)
	}
	if FirstSave(dir, "checkpoint.pt") || FirstSave(dir, "none") {
		t.Error("it is taken for a first save")
	}
	// A copy with the time of what was copied: it was made after it was written.
	if err := os.Chtimes(name, info.ModTime(), info.ModTime().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if FirstSave(dir, "checkpoint.pt") {
		t.Error("a copy is taken for a first save")
	}
}

// TestFirstDirectory: files that are made one after the other are of one save; those of a later save were all made before.
func TestFirstDirectory(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) time.Time {
		w, ok := writtenIn(filepath.Join(dir, "latest", name))
		if !ok {
			t.Skip("birth times of files are missing: run the tests on ext4, xfs or btrfs")
		}
		return w.made
	}
	if err := os.Mkdir(filepath.Join(dir, "latest"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model.pt", "optimizer.pt"} {
		if err := os.WriteFile(filepath.Join(dir, "latest", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, "latest", name), time.Time{}, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	if !FirstSave(dir, "latest") {
		t.Error("a first save is not told")
	}
	later := at("optimizer.pt").Add(time.Second)
	if err := os.Chtimes(filepath.Join(dir, "latest", "model.pt"), time.Time{}, later); err != nil {
		t.Fatal(err)
	}
	if FirstSave(dir, "latest") {
		t.Error("a file that was written over is taken for one of a first save")
	}
}
