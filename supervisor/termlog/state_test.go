package termlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

func TestWriteState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	for i := range 3 {
		if err := WriteState(dir, "trainer-0", record(i)); err != nil {
			t.Fatal(err)
		}
		b := read(t, filepath.Join(dir, "trainer-0.json"))
		if holds(t, b, record(i)); strings.Count(string(b), "\n") != 1 || b[len(b)-1] != '\n' {
			t.Errorf("not one line: %q", b)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files in the directory, %v", len(entries), err)
	}
	info, err := os.Stat(filepath.Join(dir, "trainer-0.json"))
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestWriteStateNames(t *testing.T) {
	for node, file := range map[string]string{
		"a.example.com": "a.example.com.json",
		"..":            "...json",
		"../../etc/x":   "..%2F..%2Fetc%2Fx.json",
		"a b%*\x00":     "a%20b%25%2A%00.json",
	} {
		dir := t.TempDir()
		if err := WriteState(dir, node, record(1)); err != nil {
			t.Errorf("%q: %v", node, err)
			continue
		}
		holds(t, read(t, filepath.Join(dir, file)), record(1))
	}
}

func TestWriteStateErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// A directory where the record belongs lets the rename fail.
	if err := os.MkdirAll(filepath.Join(dir, "taken.json", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		dir, node string
		want      error
	}{
		"two levels missing": {filepath.Join(dir, "none", "none"), "n", fs.ErrNotExist},
		"a file":             {file, "n", syscall.ENOTDIR},
		"a long name":        {dir, strings.Repeat("n", 300), syscall.ENAMETOOLONG},
		"no name":            {dir, "", nil},
		"in the way":         {dir, "taken", fs.ErrExist},
	} {
		if err := WriteState(tc.dir, tc.node, record(1)); err == nil || (tc.want != nil && !errors.Is(err, tc.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %q, %v", left, err)
	}
}

// However often the record is replaced, a reader finds a whole one.
func TestWriteStateIsAtomic(t *testing.T) {
	dir := t.TempDir()
	if err := WriteState(dir, "n", record(0)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		var errs error
		for i := range 50 {
			errs = errors.Join(errs, WriteState(dir, "n", record(i)))
		}
		done <- errs
	}()
	for {
		b := read(t, filepath.Join(dir, "n.json"))
		m, err := exitcodes.ParseMessage(b)
		if err != nil {
			t.Fatal(err)
		}
		holds(t, b, record(m.ExitCode))
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
	}
}
