package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// TestParseStat reads every field, and refuses what has none.
func TestParseStat(t *testing.T) {
	got, ok := ParseStat([]byte("42 (a) b) S 1 40 39 0 -1 4194560 100 0 0 0 3 4 5 6 20 0 1 0 123456 1000 100"))
	want := Stat{PID: 42, Parent: 1, Group: 40, Session: 39, Name: "a) b", State: 'S', CPU: 70 * time.Millisecond, Reaped: 110 * time.Millisecond, Began: 123456}
	if !ok || got != want {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, none := range []string{"", ")(", "42 (a) S 1", "0 (a) S 1 1 1 0 -1 0 1 0 0 0 3 4 5 6 20 0 1 0 1", "42 (ab)) \x00 1 1 1 0 -1 0 1 0 0 0 3 4 5 6 20 0 1 0 1", "42 (a) SS 1 1 1 0 -1 0 1 0 0 0 3 4 5 6 20 0 1 0 1"} {
		if got, ok := ParseStat([]byte(none)); ok {
			t.Errorf("%q: %+v", none, got)
		}
	}
	if s, ok := StatOf(os.Getpid()); !ok || s.Parent != os.Getppid() || s.Began == 0 {
		t.Errorf("%+v", s)
	}
}

// FuzzParseStat: a process gives itself its name, with whatever is in it.
func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a) b) S 1 42 42 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 123456 1000 100 18446744073709551615"))
	f.Add([]byte("7 (x\n8 (y) R 1 7 7 0"))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, ok := ParseStat(data); ok && (s.PID <= 0 || s.State == 0) {
			t.Errorf("%+v", s)
		}
	})
}
