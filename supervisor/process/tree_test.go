package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStats: the processes in the order of their numbers, and nothing else that is there. Nothing is read of a process but its
// stat file: that of one whose directory cannot be listed counts, too.
func TestStats(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"10", "9", "self", "1a", "sys"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "11"), nil, 0o644); err != nil { // has no directory at all
		t.Fatal(err)
	}
	got, err := Stats(dir)
	if want := fmt.Sprintf("%[1]s/9/stat %[1]s/10/stat %[1]s/11/stat", dir); err != nil || strings.Join(got, " ") != want {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
	if _, err := Stats(filepath.Join(dir, "none")); err == nil {
		t.Error("it is no error that there is no such directory")
	}
}

// FuzzParseStat: a process gives itself its name, with whatever is in it.
func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a) b) S 1 42 42 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 123456 1000 100 18446744073709551615"))
	f.Add([]byte("7 (x\n8 (y) R 1 7 7 0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if d, _, ok := parseStat(data); ok && (d.PID <= 0 || d.started == "") {
			t.Errorf("%+v", d)
		}
	})
}
