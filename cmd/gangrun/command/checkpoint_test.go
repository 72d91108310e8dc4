package command

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/checkpoint/format"
)

// noon is when these tests look.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// looked is what a checkpoint command said.
type looked struct {
	code     int // of an error: 64
	out, err string
	failure  error
}

// look runs a checkpoint command at noon.
func lookWith(p *program, args ...string) looked {
	var out, errs bytes.Buffer
	i := newInspection(p)
	i.out, i.err, i.now = &out, &errs, func() time.Time { return noon }
	commands := map[string]*cli.Command{"ls": i.lsCommand(), "verify": i.verifyCommand(), "select": i.selectCommand()}
	app := &cli.App{
		Name: "gangrun", Writer: &out, ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{commands[args[0]]},
	}
	err := app.Run(append([]string{"gangrun"}, args...))
	l := looked{p.code, out.String(), errs.String(), err}
	if _, wrong := errors.AsType[*configError](err); wrong {
		l.code, l.err = 64, err.Error()
	}
	return l
}

func look(args ...string) looked { return lookWith(new(program), args...) }

// steps makes checkpoints of no known format: step-N with weights and, last, DONE. A name that ends in "!" gets no DONE.
func steps(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for n, name := range names {
		name, torn := strings.CutSuffix(name, "!")
		at := noon.Add(-time.Duration(len(names)-n) * time.Hour)
		put := func(file, content string, at time.Time) {
			p := filepath.Join(dir, name, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(content), 0o644),
				os.Chtimes(p, at, at)); err != nil {
				t.Fatal(err)
			}
		}
		put("weights", strings.Repeat("w", 2048), at)
		if !torn {
			put("DONE", "1", at.Add(time.Second))
		}
	}
	return dir
}

// byRule are the flags that describe them.
var byRule = []string{"--pattern", "step-*", "--marker", "DONE"}

func ruled(command string, more ...string) []string {
	return append(append([]string{command}, byRule...), more...)
}

func goldenFile(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "checkpoint", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func TestCheckpointHelp(t *testing.T) {
	for _, name := range []string{"ls", "verify", "select"} {
		res := look(name, "--help")
		if res.failure != nil || !strings.Contains(res.out, "Example: gangrun checkpoint "+name) || !strings.Contains(res.out, "64") {
			t.Errorf("%s --help: %v\n%s", name, res.failure, res.out)
		}
	}
}

// TestCheckpointErrors repeat such names in a harmless way.
func TestCheckpointErrors(t *testing.T) {
	dir := steps(t, "step-1", "step-\x1b[31m2!")
	if res := look(ruled("select", dir)...); res.code != 0 || strings.Contains(res.err, "\x1b") || !strings.Contains(res.err, `step-\x1b[31m2`) {
		t.Errorf("%+v", res)
	}
	for _, command := range []string{"ls", "select", "verify"} {
		if res := look(command, "/no/\x1bsuch"); res.err == "" || strings.Contains(res.err, "\x1b") {
			t.Errorf("%s: %+v", command, res)
		}
	}
}

// TestCheckpointURL repeats no secret.
func TestCheckpointURL(t *testing.T) {
	wrong := &program{openTree: func(context.Context, string) (fs.FS, error) { return nil, errors.New("no such scheme") }}
	for command, want := range map[string]string{
		"ls ftp://h": "no such scheme", "select https://h/m.json": "no such scheme", "verify S3://b/p/q": "S3://b/p/q is neither",
	} {
		if res := lookWith(wrong, strings.Fields(command)...); res.code != 64 || !strings.Contains(res.err, want) {
			t.Errorf("%s: %+v", command, res)
		}
	}
	empty := &program{openTree: func(context.Context, string) (fs.FS, error) { return fstest.MapFS{}, nil }}
	for _, command := range []string{"ls", "select", "verify"} {
		if res := lookWith(empty, command, "https://user:secret@h/m.json?sig=secret"); res.err == "" || strings.Contains(res.err, "secret") {
			t.Errorf("%s: %+v", command, res)
		}
	}
}

func TestCheckpointWithin(t *testing.T) {
	for _, tt := range []struct{ name, rel, want string }{
		{"/mnt/c", "step-1", "/mnt/c/step-1"},
		{"c/", "a/step-1", "c/a/step-1"},
		{"/mnt/c", ".", "/mnt/c"},
		{"s3://b/p/", "step-1", "s3://b/p/step-1"},
		{"s3://b", "step-1", "s3://b/step-1"},
		{"https://h/d/m.json?sig=1", "step-1", "https://h/d/step-1"},
		{"https://h/b?list-type=2&prefix=p/q/", "step-1", "https://h/b/p/q/step-1"},
	} {
		if got := within(tt.name, tt.rel); got != tt.want {
			t.Errorf("%s in %s: %s, want %s", tt.rel, tt.name, got, tt.want)
		}
	}
}

func TestCheckpointParent(t *testing.T) {
	for _, tt := range []struct {
		name, dir, base string
		ok              bool
	}{
		{"/mnt/c/step-1", "/mnt/c", "step-1", true},
		{"/mnt/c/step-1/", "/mnt/c", "step-1", true},
		{"/mnt", "/", "mnt", false},
		{"/", "/", "", false},
		{"s3://b/p/step-1/", "s3://b/p", "step-1", true},
		{"s3://b/step-1", "s3://b/", "step-1", true},
		{"s3://b", "", "", false},
		{"https://h/d/m.json", "", "", false},
	} {
		if dir, base, ok := parent(tt.name); ok != tt.ok || ok && (dir != tt.dir || base != tt.base) {
			t.Errorf("%s: %q %q %v, want %q %q %v", tt.name, dir, base, ok, tt.dir, tt.base, tt.ok)
		}
	}
}

func TestCheckpointMistakes(t *testing.T) {
	for _, tt := range []struct {
		args []string
		says []string
	}{
		{[]string{"ls"}, []string{"give DIR"}},
		{[]string{"verify", ""}, []string{"give PATH"}},
		{[]string{"ls", "a", "b"}, []string{`"b"`}},
		{[]string{"ls", "a", "-o", "json"}, []string{"flags come before DIR", "-o"}},
		{[]string{"ls", "--formt", "dcp", "a"}, []string{"--formt", "--format?"}},
		{[]string{"ls", "--format", "cusstom", "a"}, []string{"--format cusstom", "custom?"}},
		{[]string{"ls", "--format", "custom", "a"}, []string{"--pattern"}},
		{[]string{"ls", "--marker", "DONE", "a"}, []string{"--marker", "--pattern"}},
		{[]string{"ls", "--step-regex", `(\d)`, "a"}, []string{"--step-regex", "--pattern"}},
		{[]string{"ls", "--pattern", "s*", "--step-regex", `\d`, "a"}, []string{"--step-regex", "group"}},
		{[]string{"ls", "--pattern", "s*", "--step-regex", `(`, "a"}, []string{"--step-regex", "missing"}},
		{[]string{"ls", "--pattern", "[", "a"}, []string{"--pattern ["}},
		{[]string{"ls", "--pattern", "a/b/c", "a"}, []string{"--pattern a/b/c"}},
		{[]string{"ls", "--pattern", "s*", "--marker", "../x", "a"}, []string{"--marker ../x"}},
		{[]string{"ls", "--pattern", "s*", "--format", format.Formats()[0], "a"}, []string{"--pattern", "--format is " + format.Formats()[0]}},
		{[]string{"select", "--world", "0", "a"}, []string{"--world 0"}},
		{[]string{"select", "--max-age", "3", "a"}, []string{"--max-age 3"}},
		{[]string{"select", "--timeout", "x", "a"}, []string{"--timeout x"}},
		{[]string{"select", "--deep", "a"}, []string{"--deep"}},
		{[]string{"verify", "-o", "yaml", "a"}, []string{"--output yaml", "json"}},
	} {
		res := look(tt.args...)
		if res.code != 64 || res.out != "" {
			t.Errorf("%q: %+v", tt.args, res)
		}
		for _, s := range tt.says {
			if !strings.Contains(res.err, s) {
				t.Errorf("%q: %q does not say %q", tt.args, res.err, s)
			}
		}
	}
	for _, args := range []string{"gangrun checkpoint", "gangrun checkpoint list x", "gangrun checkpoint --deep ls"} {
		if code := Run(strings.Fields(args)); code != 64 {
			t.Errorf("%s: %d", args, code)
		}
	}
}

// TestCheckpointCompletion offers the commands of checkpoint, and their flags once each.
func TestCheckpointCompletion(t *testing.T) {
	var b bytes.Buffer
	bashCompletion(&b, completable(&cli.App{Commands: []*cli.Command{checkpointCommand(new(program)), explainCommand()}}))
	if got := b.String(); strings.Count(got, `commands="ls verify select"`) != 1 || strings.Count(got, "--pattern") != 1 || strings.Count(got, "--deep") != 1 {
		t.Error(got)
	}
}
