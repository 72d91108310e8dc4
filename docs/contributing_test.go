package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContributing wants every package of end-to-end tests in the map of tests, and each path that the page names to
// exist.
func TestContributing(t *testing.T) {
	page, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for dir, tested := range packages(t) {
		if tested && strings.HasPrefix(dir, "test/") && !strings.Contains(string(page), "`"+dir+"`") {
			t.Errorf("CONTRIBUTING.md does not say what %s shows", dir)
		}
	}
	paths := regexp.MustCompile("`((?:cmd|docs|examples|exitcodes|supervisor|rendezvous|checkpoint|observe|packaging|test)/[^` <*]*)`")
	named := paths.FindAllStringSubmatch(string(page), -1)
	if len(named) < 20 {
		t.Fatalf("only %d paths", len(named))
	}
	for _, path := range named {
		if _, err := os.Stat(filepath.Join("..", path[1])); err != nil {
			t.Errorf("CONTRIBUTING.md: %v", err)
		}
	}
}
