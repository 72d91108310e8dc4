// Package docs checks what the documents say about the code.
package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
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

// TestPackages wants every package on the page, and each that is on the page to exist. Those below test/ are in the map
// of tests: see TestContributing.
func TestPackages(t *testing.T) {
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Split(string(page), "```")[1]
	var listed []string
	for _, line := range regexp.MustCompile(`(?m)^([a-z0-9/]+) {2,}\S`).FindAllStringSubmatch(list, -1) {
		listed = append(listed, line[1])
		if _, err := os.Stat(filepath.Join("..", line[1])); err != nil {
			t.Errorf("docs/architecture.md: %v", err)
		}
	}
	for dir := range packages(t) {
		if !strings.HasPrefix(dir, "test/") && !slices.Contains(listed, dir) {
			t.Errorf("docs/architecture.md does not have the package %s", dir)
		}
	}
}

// TestOrder: what the program is made of depends only on what is below it on the page.
func TestOrder(t *testing.T) {
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Split(string(page), "```")[1]
	of := regexp.MustCompile(`^(cmd|observe|supervisor|rendezvous|checkpoint|internal|exitcodes)\b`)
	var order []string
	for line := range strings.Lines(list) {
		if top := of.FindString(line); top != "" && !slices.Contains(order, top) {
			order = append(order, top)
		}
	}
	if len(order) != 7 {
		t.Fatalf("the order is %v", order)
	}
	imported := regexp.MustCompile(`(?m)^\s+(?:\w+ )?"github.com/gangrun/gangrun/([^/"]+)`)
	for dir := range packages(t) {
		own := slices.Index(order, of.FindString(dir))
		if own < 0 {
			continue
		}
		files, _ := filepath.Glob(filepath.Join("..", dir, "*.go"))
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, top := range imported.FindAllStringSubmatch(string(source), -1) {
				if at := slices.Index(order, top[1]); at < own && !strings.HasSuffix(file, "_test.go") {
					t.Errorf("%s imports something of %s", file, top[1])
				}
			}
		}
	}
}

// TestPure: what the page calls pure reads no clock and touches nothing outside.
func TestPure(t *testing.T) {
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Split(string(page), "```")[1]
	pure := regexp.MustCompile(`(?m)^([a-z/]+) +\S.*\bPure\b`).FindAllStringSubmatch(list, -1)
	if len(pure) < 10 {
		t.Errorf("%d packages are pure", len(pure))
	}
	impure := regexp.MustCompile(`(?m)^\s+"(os|os/\w+|syscall|net/http|golang\.org/x/sys/unix)"$|\btime\.(Now|Since|Until|After|AfterFunc|Sleep|NewTimer|NewTicker)\(|\bnet\.(Dial|Listen)`)
	for _, p := range pure {
		files, _ := filepath.Glob(filepath.Join("..", p[1], "*.go"))
		if len(files) == 0 {
			t.Errorf("%s has no files", p[1])
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := impure.Find(source); found != nil && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s has %s", file, strings.TrimSpace(string(found)))
			}
		}
	}
}

// packages are the directories that hold Go, from the root, and whether they hold tests.
func packages(t *testing.T) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name()[0] == '.' || d.Name() == "testdata" || d.Name() == "probe"):
			return fs.SkipDir // probes are what tests run
		case path.Ext(name) == ".go":
			found[path.Dir(name)] = found[path.Dir(name)] || strings.HasSuffix(name, "_test.go")
		}
		return nil
	})
	if err != nil || len(found) < 40 {
		t.Fatalf("%d packages, %v", len(found), err)
	}
	return found
}
