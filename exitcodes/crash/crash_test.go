package crash

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGo has a goroutine panic in a program of its own: the handler decides how that ends.
func TestGo(t *testing.T) {
	if os.Getenv("CRASH") != "" {
		if os.Getenv("CRASH") == "handled" {
			Handle(func(value any, stack []byte) {
				if value != "why" || !strings.Contains(string(stack), "TestGo") {
					os.Exit(1)
				}
				os.Exit(70)
			})
		}
		Go(func() { panic("why") })
		select {}
	}
	for how, code := range map[string]int{"handled": 70, "unhandled": 2} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGo$")
		cmd.Env = append(os.Environ(), "CRASH="+how)
		if cmd.Run(); cmd.ProcessState.ExitCode() != code {
			t.Errorf("%s: exits with %d, want %d", how, cmd.ProcessState.ExitCode(), code)
		}
	}
}

// TestEveryGoroutine finds no goroutine in the program that is started in another way.
func TestEveryGoroutine(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, directory := range []string{"cmd", "observe", "supervisor", "rendezvous", "checkpoint", "exitcodes", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, directory), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"),
				strings.Contains(path, "storetest"),                      // tests
				strings.HasSuffix(path, "crash/crash.go"),                // here
				strings.HasSuffix(path, "supervisor/signals/signals.go"): // before anything else is initialised
				return nil
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				_, bare := n.(*ast.GoStmt)
				if call, ok := n.(*ast.CallExpr); ok && called(call) == "Go" { // of a sync.WaitGroup
					arg, ok := call.Args[0].(*ast.CallExpr)
					bare = !ok || called(arg) != "Guard"
				}
				if bare {
					t.Errorf("%v: a panic in this goroutine ends gangrun with 2; start it by crash.Go", set.Position(n.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// called is the name of what is called through a package or a value; crash.Go itself does not count.
func called(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 {
		return ""
	}
	if x, ok := sel.X.(*ast.Ident); ok && x.Name == "crash" && sel.Sel.Name == "Go" {
		return ""
	}
	return sel.Sel.Name
}
