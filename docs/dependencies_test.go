package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDependencies wants the page to explain each module that go.mod requires for the code itself, and each tool that is
// run by its version.
func TestDependencies(t *testing.T) {
	page, err := os.ReadFile("dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	for file, pattern := range map[string]string{
		"../go.mod":                    `(?m)^\t(\S+) v\S+$`, // a comment follows those that only others need
		"../Makefile":                  ` run ([\w./]+?)(?:/cmd/\w+)?@v`,
		"../packaging/release/main.go": `"([\w./]+?)(?:/cmd/\w+)?@v`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s: none is found", file)
		}
		for _, module := range found {
			if !regexp.MustCompile(regexp.QuoteMeta(module[1]) + `\b`).Match(page) {
				t.Errorf("docs/dependencies.md does not explain %s of %s", module[1], strings.TrimPrefix(file, "../"))
			}
		}
	}
}
