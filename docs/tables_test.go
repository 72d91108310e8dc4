package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTables wants every table to begin with its head: a blank line within one leaves the rows behind it outside.
func TestTables(t *testing.T) {
	tables := 0
	for _, pattern := range []string{"*.md", "../*.md", "../examples/*/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatal(pattern, err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(text), "\n")
			for i, line := range lines {
				if !strings.HasPrefix(line, "|") || i > 0 && strings.HasPrefix(lines[i-1], "|") {
					continue
				}
				tables++
				if !strings.HasPrefix(lines[i+1], "|--") {
					t.Errorf("%s:%d: a row outside of a table: %s", page, i+1, line)
				}
			}
		}
	}
	if tables < 50 {
		t.Errorf("only %d tables", tables)
	}
}
