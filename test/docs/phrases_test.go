package docs_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// phraseList is the one place that lists the phrases which are not written here.
const phraseList = "test/docs/phrases.txt"

// phrase is one of them. What matches unless right behind it makes it right; nil when nothing does.
type phrase struct {
	match, unless *regexp.Regexp
	instead       string
}

// phrases are those of the list, and the words of each file in which none is searched for.
type phrases struct {
	list   []phrase
	quoted map[string][]string
}

// capital is a letter that is no class of a regular expression.
var capital = regexp.MustCompile(`(?:^|[^\\])[A-Z]`)

func parsePhrases(text string) (phrases, error) {
	p := phrases{quoted: make(map[string][]string)}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if rest, found := strings.CutPrefix(line, "quoted "); found {
			file, words, _ := strings.Cut(rest, ": ")
			if words == "" {
				return p, fmt.Errorf("line %d: want quoted FILE: WORDS", i+1)
			}
			p.quoted[file] = append(p.quoted[file], words)
			continue
		}
		said, instead, _ := strings.Cut(line, " -> ")
		if instead == "" {
			return p, fmt.Errorf("line %d: want REGEXP -> INSTEAD", i+1)
		}
		if capital.MatchString(said) {
			return p, fmt.Errorf("line %d: %q is looked for in lower case", i+1, said)
		}
		said, unless, _ := strings.Cut(said, " unless ")
		entry := phrase{match: regexp.MustCompile(`\b(?:` + strings.ReplaceAll(said, " ", `\s+`) + `)\b`), instead: instead}
		if unless != "" {
			entry.unless = regexp.MustCompile(`^[\s-]+(?:` + unless + `)\b`)
		}
		p.list = append(p.list, entry)
	}
	return p, nil
}

// search returns a line for each phrase in the prose of a file.
func (p phrases) search(file string, prose []byte) (hits []string) {
	for _, words := range p.quoted[file] {
		if !bytes.Contains(prose, []byte(words)) {
			hits = append(hits, fmt.Sprintf("%s: no %q is here; %s quotes it", file, words, phraseList))
		}
		prose = bytes.ReplaceAll(prose, []byte(words), make([]byte, len(words)))
	}
	lower := bytes.Clone(prose)
	for i, b := range prose { // whatever else has another case keeps its length
		if b >= 'A' && b <= 'Z' {
			lower[i] = b - 'A' + 'a'
		}
	}
	for _, entry := range p.list {
		for _, at := range entry.match.FindAllIndex(lower, -1) {
			if entry.unless != nil && entry.unless.Match(lower[at[1]:]) {
				continue
			}
			said := strings.Join(strings.Fields(string(prose[at[0]:at[1]])), " ")
			line := 1 + bytes.Count(prose[:at[0]], []byte("\n"))
			hits = append(hits, fmt.Sprintf("%s:%d: %q; instead: %s", file, line, said, entry.instead))
		}
	}
	return hits
}

// proseOf leaves of a file what people read of it, each byte in its place: of Go the comments, and the strings of what is
// no test; of anything else all but the marks of comments. A zero byte stands for what is left out, so that nothing is
// found across it.
func proseOf(file string, source []byte) ([]byte, error) {
	if filepath.Ext(file) != ".go" {
		return commentMark.ReplaceAllFunc(source, blank), nil
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	prose := make([]byte, len(source))
	for i, b := range source {
		if strings.IndexByte(" \t\n\"+`", b) >= 0 { // two strings that are joined are one
			prose[i] = b
		}
	}
	keep := func(n ast.Node) {
		from, to := set.Position(n.Pos()).Offset, set.Position(n.End()).Offset
		copy(prose[from:to], source[from:to])
	}
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			keep(comment)
		}
	}
	if !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "test/") {
		ast.Inspect(parsed, func(n ast.Node) bool {
			if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
				keep(literal)
			}
			return true
		})
	}
	return goMark.ReplaceAllFunc(prose, blank), nil
}

var commentMark, goMark = regexp.MustCompile(`(?m)^[\t #>]+`), regexp.MustCompile("//|[\"+`]")

// blank is as many spaces.
func blank(b []byte) []byte { return bytes.Repeat([]byte(" "), len(b)) }

// written are the files of the repository that people read: none that is input to a test or a table of single words, or another's.
func written(t *testing.T) (files []string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = harness.Root()
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		input := strings.Contains(file, "testdata/") || strings.HasPrefix(file, "test/") && filepath.Ext(file) != ".go"
		if others := []string{"LICENSE", "go.sum", "docs/events.schema.json", "posted.tsv", "written.tsv", "weights.tsv"}; !input && !slices.Contains(others, filepath.Base(file)) {
			files = append(files, file)
		}
	}
	return files
}

func TestPhrases(t *testing.T) {
	harness.Costly(t)
	list, err := os.ReadFile(filepath.Join(harness.Root(), phraseList))
	if err != nil {
		t.Fatal(err)
	}
	p, err := parsePhrases(string(list))
	if err != nil {
		t.Fatalf("%s: %v", phraseList, err)
	}
	files := written(t)
	if len(files) < 500 {
		t.Fatalf("only %d files", len(files))
	}
	for _, file := range files {
		source, err := os.ReadFile(filepath.Join(harness.Root(), file))
		if err != nil {
			continue // deleted, and not committed yet
		}
		prose, err := proseOf(file, source)
		if err != nil {
			t.Fatal(err)
		}
		for _, hit := range p.search(file, prose) {
			t.Error(hit)
		}
	}
	for file := range p.quoted {
		if !slices.Contains(files, file) {
			t.Errorf("%s quotes %s, which is not searched", phraseList, file)
		}
	}
}

// TestPhraseSearch has each place where a phrase may stand, and each where it may not.
func TestPhraseSearch(t *testing.T) {
	p, err := parsePhrases("# a comment\n(go|goes) on from -> resume from\na training unless job|run -> a training job\nquoted q.md: they go on from\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		file, text string
		line       int // of the only hit; 0: none
	}{
		{"a.md", "one\nthey Go on from there", 2},
		{"a.md", "they go on\nfrom there", 1},
		{"a.md", "they gogo on from, go on fromage", 0},
		{"a.sh", "true\n# they go on\n# from there", 2},
		{"a.md", "a training run, a training\njob, a training-run", 0},
		{"a.md", "a training is over", 1},
		{"q.md", "they go on from there", 0},
		{"q.md", "they go on from there; it goes on from there", 1},
		{"a.go", "package a\n\n// It goes on\n// from there.\nvar x = 1\n", 3},
		{"a.go", "package a\n\nvar x = 1 // it goes on from there\n", 3},
		{"a.go", "package a\n\nvar x = \"goes on \" +\n\t\"from there\"\n", 3},
		{"a.go", "package a\n\nvar x, y = \"goes on\", \"from there\"\n", 0},
		{"a.go", "package a\n\n/* goes on from */\n", 3},
		{"a_test.go", "package a\n\nvar x = \"goes on from\"\n", 0},
		{"a_test.go", "package a\n\n// goes on from\nvar x = 1\n", 3},
	} {
		prose, err := proseOf(test.file, []byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		hits := p.search(test.file, prose)
		switch {
		case test.line == 0 && len(hits) > 0,
			test.line > 0 && (len(hits) != 1 || !strings.HasPrefix(hits[0], fmt.Sprintf("%s:%d: ", test.file, test.line))):
			t.Errorf("%s: %q: %q, want a hit in line %d", test.file, test.text, hits, test.line)
		}
	}
	if hits := p.search("q.md", []byte("nothing")); len(hits) != 1 {
		t.Errorf("a quote that is not in its file: %q", hits)
	}
	for _, wrong := range []string{"no arrow", "quoted a.md"} {
		if _, err := parsePhrases(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
