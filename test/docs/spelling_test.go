package docs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// What is not prose: blocks and pieces of code, addresses, comments.
var (
	indented = regexp.MustCompile(`(?m)^(?: {4}|\t).*$`)
	fenced   = regexp.MustCompile("(?s)(?:^|\n) *```.*?\n *```")
	quoted   = regexp.MustCompile("`[^`]*`")
	address  = regexp.MustCompile(`\]\([^)]*\)|https?://\S+|<!--.*?-->`)
	word     = regexp.MustCompile(`[A-Za-z]+(?:'[a-z]+)?`)
)

// words are those of a page's prose, in lower case, with the lines that have them.
func words(page []byte) map[string]int {
	// What is cut out keeps its line breaks.
	blank := func(b []byte) []byte { return bytes.Repeat([]byte("\n"), bytes.Count(b, []byte("\n"))) }
	for _, code := range []*regexp.Regexp{fenced, indented, quoted, address} {
		page = code.ReplaceAllFunc(page, blank)
	}
	found := map[string]int{}
	for i, line := range strings.Split(string(page), "\n") {
		for _, w := range word.FindAllString(line, -1) {
			w = strings.ToLower(strings.TrimSuffix(w, "'s"))
			if _, again := found[w]; len(w) > 2 && !again {
				found[w] = i + 1
			}
		}
	}
	return found
}

// TestSpelling: every word of the pages is in words.txt, so that one that is new there is one that somebody has read.
func TestSpelling(t *testing.T) {
	var all []string
	const list = "words.txt"
	data, err := os.ReadFile(list)
	if err != nil && os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatal(err)
	}
	known := strings.Fields(string(data))
	found, _ := filepath.Glob(filepath.Join(harness.Root(), "docs", "*.md"))
	top, _ := filepath.Glob(filepath.Join(harness.Root(), "*.md"))
	for _, path := range append(top, found...) {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for w, line := range words(page) {
			all = append(all, w)
			if _, is := slices.BinarySearch(known, w); !is && os.Getenv("UPDATE_GOLDEN") == "" {
				t.Errorf("%s:%d: %q is not in words.txt: a slip, or UPDATE_GOLDEN=1 go test ./test/docs -run TestSpelling adds it",
					path, line, w)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(list, []byte(strings.Join(all, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !slices.IsSorted(known) {
		t.Error("words.txt is not sorted")
	}
}

// TestWords: code is none, and a break in the middle of code moves no line.
func TestWords(t *testing.T) {
	page := "One `teh` line's\n```sh\nteh\n```\n\n    teh\nTwo [wrod](wrogn.md) https://teh.example\n<!-- teh --> of\n"
	got := words([]byte(page))
	want := map[string]int{"one": 1, "line": 1, "two": 7, "wrod": 7}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	for w, line := range want {
		if got[w] != line {
			t.Errorf("%s: %d", w, got[w])
		}
	}
}
