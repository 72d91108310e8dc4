package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurity wants every test that the page on security names to be where it says.
func TestSecurity(t *testing.T) {
	page, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z0-9/]+)` ((?:Test|Fuzz)[A-Za-z0-9]+)").FindAllStringSubmatch(string(page), -1)
	if len(named) < 20 {
		t.Fatalf("only %d tests", len(named))
	}
	for _, n := range named {
		files, _ := filepath.Glob(filepath.Join("..", n[1], "*_test.go"))
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(text), "\nfunc "+n[2]+"(")
		}
		if !found {
			t.Errorf("there is no %s in %s", n[2], n[1])
		}
	}
}
