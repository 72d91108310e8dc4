package docs

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImageSources has .dockerignore let into an image's build every directory that the program is built from.
func TestImageSources(t *testing.T) {
	const module = "github.com/gangrun/gangrun/"
	data, err := os.ReadFile("../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	out, err := exec.Command("go", "list", "-deps", "../cmd/gangrun").Output()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for path := range strings.Lines(string(out)) {
		dir, ok := strings.CutPrefix(strings.TrimSpace(path), module)
		if !ok {
			continue
		}
		own++
		if dir, _, _ = strings.Cut(dir, "/"); !slices.Contains(lines, "!"+dir) {
			t.Errorf("%s is not in .dockerignore", dir)
		}
	}
	if own < 20 {
		t.Errorf("%d packages", own)
	}
}
