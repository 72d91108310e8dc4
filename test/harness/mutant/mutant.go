// Package mutant builds gangrun with one line changed, for tests that a promise which is broken on purpose is found.
package mutant

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Overlay returns a file for go's -overlay by which the source file at path has new where it had old, which has to be
// there once. The file itself stays as it is.
func Overlay(t testing.TB, path, old, changed string) (overlay string) {
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
	paths, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		mutated: []byte(strings.Replace(string(source), old, changed, 1)), overlay: paths,
	} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}
