package node

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// product parses the package's files, without its tests.
func product(t *testing.T) (*token.FileSet, []*ast.File) {
	t.Helper()
	set := token.NewFileSet()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return set, files
}

// TestPure has the package import nothing that could do something, and look at no clock.
func TestPure(t *testing.T) {
	allowed := map[string]bool{
		"cmp": true, "fmt": true, "log/slog": true, "slices": true, "strings": true, "time": true,
		"github.com/gangrun/gangrun/exitcodes": true, "github.com/gangrun/gangrun/rendezvous": true,
		"github.com/gangrun/gangrun/internal/words": true, // which imports fmt and strings alone
	}
	clock := map[string]bool{"Now": true, "Since": true, "Until": true, "After": true, "AfterFunc": true, "NewTimer": true, "NewTicker": true, "Sleep": true, "Tick": true}
	set, files := product(t)
	for _, f := range files {
		for _, spec := range f.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); !allowed[path] {
				t.Errorf("%v: imports %s", set.Position(spec.Pos()), path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "time" && clock[sel.Sel.Name] || x.Name == "slog" && !strings.HasPrefix(sel.Sel.Name, "Level")) {
				t.Errorf("%v: %s.%s", set.Position(n.Pos()), x.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

// TestOnePlace finds exactly one assignment of how the node ends, and one of its state.
func TestOnePlace(t *testing.T) {
	set, files := product(t)
	places := map[string][]string{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for _, left := range a.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok && x.Name == "n" && (sel.Sel.Name == "final" || sel.Sel.Name == "state") {
						places[sel.Sel.Name] = append(places[sel.Sel.Name], set.Position(a.Pos()).String())
					}
				}
			}
			return true
		})
	}
	for _, field := range []string{"final", "state"} {
		if len(places[field]) != 1 {
			t.Errorf("%s is set at %v", field, places[field])
		}
	}
}
