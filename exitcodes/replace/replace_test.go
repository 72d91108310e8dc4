package replace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func content(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	for i, text := range []string{"old", "new and longer", ""} {
		mode := []fs.FileMode{0o644, 0o600, 0o755}[i]
		if err := File(name, mode, Bytes([]byte(text))); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil || info.Mode() != mode || content(t, name) != text || entries(t, dir) != 1 {
			t.Errorf("%q with mode %v, %v, %d files", content(t, name), info.Mode(), err, entries(t, dir))
		}
	}
}

// TestFileFails leaves the old content, and nothing beside it.
func TestFileFails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := File(name, 0o644, Bytes([]byte("old"))); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	half := func(w io.Writer) error {
		if text := content(t, name); text != "old" {
			t.Errorf("%q while the new content is written", text)
		}
		_, err := w.Write([]byte("half"))
		return errors.Join(err, broken)
	}
	if err := File(name, 0o644, half); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if content(t, name) != "old" || entries(t, dir) != 1 {
		t.Errorf("%q, %d files", content(t, name), entries(t, dir))
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := File(filepath.Join(dir, "d"), 0o644, Bytes(nil)); err == nil || entries(t, dir) != 2 {
		t.Errorf("in the place of a directory: %v, %d files", err, entries(t, dir))
	}
	if err := File(filepath.Join(dir, "none", "f"), 0o644, Bytes(nil)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
