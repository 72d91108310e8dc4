package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	if err := WriteRecord(dir, []byte("x")); err != nil {
		t.Errorf("a directory that is not there yet: %v", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", "one", "two", ""} {
		if err := WriteRecord(dir, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadRecord(dir); string(got) != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%v is left", entries)
	}
	if err := os.WriteFile(filepath.Join(dir, RecordFile), []byte(strings.Repeat("x", maxRecord+1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRecord(dir); err == nil {
		t.Error("a record of any size is read")
	}
}
