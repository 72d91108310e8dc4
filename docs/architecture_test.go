// Package docs checks what the documents say about the code.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestArchitecture finds every file that the page names, and in it what is to be looked for there.
func TestArchitecture(t *testing.T) {
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| `([^`]+)` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 18 {
		t.Fatalf("%d rows, want at least 18", len(rows))
	}
	for _, row := range rows {
		file, name := row[1], row[2]
		source, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Errorf("%s: %v", row[0], err)
			continue
		}
		declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |\t)` + regexp.QuoteMeta(name) + `\b`)
		if !declared.Match(source) {
			t.Errorf("%s declares no %s", file, name)
		}
	}
	for _, path := range regexp.MustCompile("`((?:cmd|supervisor|rendezvous|checkpoint|exitcodes|examples|test)/[^` <]*)`").FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(filepath.Join("..", path[1])); err != nil && !strings.Contains(path[1], "testdata") {
			t.Errorf("the page names %s: %v", path[1], err)
		}
	}
}
