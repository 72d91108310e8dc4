package command

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/internal/words"
)

// TestFlagsAreNamedOnce has each command read its flags: the library that reads them panics where two have one name.
func TestFlagsAreNamedOnce(t *testing.T) {
	for _, command := range []string{"run", "launch", "local"} {
		if code := Run([]string{"gangrun", command, "--no-such-flag"}); code != 64 {
			t.Errorf("%s: exits with %d", command, code)
		}
	}
}

// TestFlagOfALine: a line of the log about a setting has its flag, and says nothing else of it.
func TestFlagOfALine(t *testing.T) {
	for _, format := range []string{logLines, logText, logJSON} {
		o := defaultOptions()
		o.logFormat = format
		var b bytes.Buffer
		log := slog.New(o.logHandler(&b)).With("rank", 1)
		log.Warn("they hang", "why", "no step", "setting", words.SettingHang)
		log.Warn("no flag", "why", "no step")
		text := b.String()
		if strings.Count(text, "they hang (--hang act") != 1 || strings.Count(text, "no step") != 2 || strings.Count(text, "--") != 1 || strings.Contains(text, "setting") {
			t.Errorf("%s: %s", format, text)
		}
	}
}

// TestFlagsAreNamedHere: what the packages below print or embed names no flag. Command lines are the subject of torchrun
// and gang, so there only sentences count.
func TestFlagsAreNamedHere(t *testing.T) {
	flags := map[string]bool{}
	for _, s := range append(defaultOptions().runSettings(), defaultOptions().launchSettings()...) {
		flags["--"+s.name] = true
	}
	named, read, embedded := regexp.MustCompile(`--[a-z][a-z-]*`), 0, 0
	ways := defaultOptions().resuming.policy.Ways
	for _, says := range append(slices.Collect(maps.Values(settingFlags)), ways.All, ways.Ignore, ways.Pattern) {
		names := named.FindAllString(says, -1)
		if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return !flags[name] }) {
			t.Errorf("%q names no flag, or one that there is not", says)
		}
	}
	for _, top := range []string{"supervisor", "rendezvous", "checkpoint", "observe", "exitcodes", "internal"} {
		err := filepath.WalkDir(filepath.Join("../../..", top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "supervisor/torchrun/") || strings.Contains(path, "/testdata/") {
				return err
			}
			if slices.Contains([]string{".yaml", ".html"}, filepath.Ext(path)) {
				data, err := os.ReadFile(path)
				for _, name := range named.FindAllString(string(data), -1) {
					if flags[name] {
						t.Errorf("%s has %s", path, name)
					}
				}
				embedded++
				return err
			}
			if filepath.Ext(path) != ".go" {
				return nil
			}
			lines := strings.Contains(path, "supervisor/gang/")
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			read++
			ast.Inspect(file, func(n ast.Node) bool {
				if text, is := n.(*ast.BasicLit); is && text.Kind == token.STRING {
					for _, name := range named.FindAllString(text.Value, -1) {
						if flags[name] && (!lines || strings.Contains(text.Value, " ")) {
							t.Errorf("%s prints %s: %s", path, name, text.Value)
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 500 || embedded < 3 {
		t.Errorf("%d and %d files read", read, embedded)
	}
}
