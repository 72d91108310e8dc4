// Package mutant builds gangrun with one line changed, for tests that a promise which is broken on purpose is found.
package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// File is one that is not there.
type File struct{ Path, Text string }

// Overlay returns a file for go's -overlay by which the source file at path has new where it had old, which has to be
// there once, and by which there are more files beside it. Nothing of that is written where it seems to be.
func Overlay(t testing.TB, path, old, changed string, more ...File) (overlay string) {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), old) != 1 {
		t.Fatalf("%s has not one %q", path, old)
	}
	dir := t.TempDir()
	mutated, overlay := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json")
	replace := map[string]string{path: mutated}
	files := map[string][]byte{mutated: []byte(strings.Replace(string(source), old, changed, 1))}
	for i, f := range more {
		name := filepath.Join(dir, fmt.Sprint("added-", i, ".go"))
		replace[f.Path], files[name] = name, []byte(f.Text)
	}
	if files[overlay], err = json.Marshal(map[string]any{"Replace": replace}); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}
