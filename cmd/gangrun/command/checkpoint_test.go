package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
	"github.com/gangrun/gangrun/exitcodes"
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

// everyState is one checkpoint of each state.
func everyState() listing {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	return listing{Format: "hf_trainer", Chosen: "checkpoint-300", Checkpoints: []*format.Checkpoint{
		{Format: "hf_trainer+dcp", Path: "checkpoint-1200", Root: ".", Step: 1200, Reason: problem.InProgress, Size: 1 << 33,
			Detail: "checkpoint-1200/.metadata.tmp is there", Modified: ago(3 * time.Second), ShardsExpected: -1},
		{Format: "hf_trainer", Path: "checkpoint-900", Root: ".", Step: 900, Reason: problem.MissingShard, Size: 123456789,
			Detail: "checkpoint-900/model-00002-of-00003.safetensors is missing", Modified: ago(90 * time.Minute), ShardsExpected: 3, ShardsFound: 2},
		{Format: "hf_trainer", Path: "checkpoint-800", Root: ".", Step: 800, Reason: problem.Permission,
			Detail: "open checkpoint-800: permission denied"},
		{Format: "hf_trainer", Path: "checkpoint-700", Root: ".", Step: 700, Complete: true, Reason: problem.WeightsOnly, Size: 5 << 30,
			Detail: "no state of the optimizer", Modified: ago(26 * time.Hour)},
		{Format: "hf_trainer", Path: "checkpoint-600", Root: ".", Step: 600, Complete: true, Resumable: true, Size: 6 << 30,
			Modified: ago(-time.Hour), Elastic: true, WorldSize: 8, Level: format.Manifests},
		{Format: "hf_trainer", Path: "checkpoint-300", Root: ".", Tag: "checkpoint-300", Step: 300, StepFrom: format.StepFromName,
			Complete: true, Resumable: true, Basis: format.BasisManifest, Size: 6 << 30, Modified: ago(50 * time.Hour),
			ModifiedFrom: format.ModifiedMarker, ShardsExpected: 3, ShardsFound: 3, WorldSize: 8, RunID: "run1", Level: format.Manifests},
		{Format: "hf_trainer", Path: "evil\x1b]0;owned\a\nname\xff\u202e", Root: ".", Step: -1, Reason: problem.NoMarker, Size: 1,
			Detail: "evil\x1b[2J\nname is torn", Modified: ago(time.Hour)},
	}, passed: map[string]problem.Error{"checkpoint-600": {Reason: problem.WorldSizeMismatch, Detail: "8 ranks wrote it, and 4 would read it"}}}
}

// TestCheckpointTable has one row of every state, and names that would do something to a terminal.
func TestCheckpointTable(t *testing.T) {
	l := everyState()
	for name, colours := range map[string]bool{"table.txt": false, "table-colours.txt": true} {
		var rows []row
		for _, c := range l.Checkpoints {
			rows = append(rows, rowOf(c, l.passed[c.Path], c.Path == l.Chosen, noon))
		}
		var b strings.Builder
		writeTable(&b, rows, colours)
		goldenFile(t, name, b.String())
		for line := range strings.Lines(b.String()) {
			if !colours && len(line) > 121 {
				t.Errorf("%d columns: %s", len(line), line)
			}
		}
	}
}

// TestCheckpointJSON guards the keys, which programs read.
func TestCheckpointJSON(t *testing.T) {
	var b bytes.Buffer
	i := inspection{out: &b}
	if err := i.encode(everyState()); err != nil || !json.Valid(b.Bytes()) {
		t.Fatal(err)
	}
	goldenFile(t, "listing.json", b.String())
	b.Reset()
	if err := i.encode(listing{Checkpoints: []*format.Checkpoint{}}); err != nil {
		t.Fatal(err)
	}
	goldenFile(t, "empty.json", b.String())
}

func TestCheckpointHelp(t *testing.T) {
	for _, name := range []string{"ls", "verify", "select"} {
		res := look(name, "--help")
		if res.failure != nil || !strings.Contains(res.out, "Example: gangrun checkpoint "+name) || !strings.Contains(res.out, "64") {
			t.Errorf("%s --help: %v\n%s", name, res.failure, res.out)
		}
	}
}

func TestCheckpointLs(t *testing.T) {
	dir := steps(t, "step-1", "step-2", "step-3!")
	res := look(ruled("ls", dir)...)
	if res.code != 0 || res.failure != nil || res.err != "" {
		t.Fatalf("%+v", res)
	}
	want := [][]string{{"STEP", "FORMAT"}, {"3", "custom", "torn", "no_marker", "step-3"}, {"DONE"},
		{"*", "2", "custom", "119m", "complete", "step-2"}, {"1", "complete", "step-1"}}
	lines := strings.Split(strings.TrimSuffix(res.out, "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), res.out)
	}
	for n, words := range want {
		for _, w := range words {
			if !strings.Contains(lines[n], w) {
				t.Errorf("line %d has no %q: %s", n, w, lines[n])
			}
		}
	}
	if n := strings.Count(res.out, "*"); n != 1 {
		t.Errorf("%d are chosen:\n%s", n, res.out)
	}
	if strings.Contains(res.out, "\x1b") {
		t.Errorf("colours in a file:\n%q", res.out)
	}

	var l struct {
		Format, Chosen string
		Checkpoints    []format.Checkpoint
	}
	res = look(ruled("ls", "-o", "json", dir)...)
	if err := json.Unmarshal([]byte(res.out), &l); err != nil || l.Format != "custom" || l.Chosen != "step-2" || len(l.Checkpoints) != 3 ||
		l.Checkpoints[0].Step != 3 || l.Checkpoints[0].Complete || !l.Checkpoints[1].Complete {
		t.Errorf("%v: %+v", err, l)
	}

	// What the policy passes over is shown as such, and the next one is marked.
	res = look(ruled("ls", "--max-age", "90m", dir)...)
	if res.code != 0 || strings.Contains(res.out, "*") || strings.Count(res.out, "too_old") != 2 {
		t.Errorf("%+v", res)
	}
}

func TestCheckpointLsOfNothing(t *testing.T) {
	empty := t.TempDir()
	if res := look("ls", empty); res.code != 0 || res.failure != nil || res.out != "" || !strings.Contains(res.err, "no checkpoints") {
		t.Errorf("%+v", res)
	}
	if res := look("ls", "-o", "json", empty); res.code != 0 || res.out != "{\n  \"format\": \"\",\n  \"checkpoints\": []\n}\n" {
		t.Errorf("%+v", res)
	}
}

// TestCheckpointLsAsRun: what ls says of directories of which a run decides by more than what is in them.
func TestCheckpointLsAsRun(t *testing.T) {
	const (
		weights = "\x80\x02}X\x01\x00\x00\x00wcnumpy.core.multiarray\n_reconstruct\n)Rs."
		state   = "\x80\x02}(X\x04\x00\x00\x00stepK\x05X\x05\x00\x00\x00optimK\x01u." // {"step": 5, ...}
	)
	dir := t.TempDir()
	for name, data := range map[string]string{"epoch_1.pt": weights, "rest/state.pt": state} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if res := look("ls", dir); res.code != 0 || !strings.Contains(res.err, "would not start, but end with 65") || !strings.Contains(res.out, "rest/state.pt") {
		t.Errorf("a state below: %+v", res)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ckpt.pt"), []byte(state[:20]), 0o644); err != nil {
		t.Fatal(err)
	}
	says := "would not start, but end with 65"
	if checkpoint.FirstSave(dir, "ckpt.pt") {
		says = "would start fresh"
	}
	if res := look("ls", dir); res.code != 0 || !strings.Contains(res.err, says) {
		t.Errorf("a cut save in place: %+v, want %q", res, says)
	}
}

// TestCheckpointLsSetAside shows what a run has gone back behind.
func TestCheckpointLsSetAside(t *testing.T) {
	dir := steps(t, "step-1", "step-2")
	memory := fmt.Sprintf(`{"v":1,"aside":[{"path":"step-2","modified":%q}]}`, noon.Add(-time.Hour+time.Second).Format(time.RFC3339Nano))
	if err := os.WriteFile(filepath.Join(dir, ".gangrun.json"), []byte(memory), 0o644); err != nil {
		t.Fatal(err)
	}
	res := look(ruled("ls", dir)...)
	if !strings.Contains(res.out, "quarantined") || !strings.Contains(res.out, "*    1") {
		t.Errorf("%+v", res)
	}
	if res := look(ruled("select", dir)...); res.out != filepath.Join(dir, "step-1")+"\n" {
		t.Errorf("%+v", res)
	}
	if err := os.WriteFile(filepath.Join(dir, ".gangrun.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if res := look(ruled("ls", dir)...); res.code != codeUnknown || strings.Contains(res.out, "*") || !strings.Contains(res.out, "step-2") {
		t.Errorf("with a memory that cannot be read: %+v", res)
	}
	if res := look(ruled("select", dir)...); res.code != exitcodes.CodeCheckpointUnusable || res.out != "" {
		t.Errorf("with a memory that cannot be read: %+v", res)
	}
}

func TestCheckpointSelect(t *testing.T) {
	dir := steps(t, "step-1", "step-2", "step-3!")
	res := look(ruled("select", dir)...)
	if res.code != 0 || res.out != filepath.Join(dir, "step-2")+"\n" || !strings.Contains(res.err, "step-3: no_marker") {
		t.Errorf("%+v", res)
	}
	var c format.Checkpoint
	res = look(ruled("select", "-o", "json", dir)...)
	if err := json.Unmarshal([]byte(res.out), &c); err != nil || c.Path != "step-2" || !c.Complete || c.Step != 2 || c.Level != format.Manifests {
		t.Errorf("%v: %+v", err, c)
	}
	runs := t.TempDir()
	for _, name := range []string{"resnet/ckpt_900.pt", "vit/ckpt_100.pt"} {
		if err := os.MkdirAll(filepath.Join(runs, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(runs, name), []byte("\x80\x02}X\x04\x00\x00\x00stepK\x05s."), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// What is asked about is not passed over.
	for _, command := range []string{"select", "ls"} {
		if res := look(command, runs); strings.Contains(res.err, "passed over") || strings.Count(res.err, "resnet, vit") != 1 {
			t.Errorf("%s of two runs: %s", command, res.err)
		}
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"all torn", ruled("select", steps(t, "step-1!", "step-2!")), 65, []string{"none of 2", "step-2: no_marker", "DONE"}},
		{"too old", ruled("select", "--max-age", "1m", dir), 65, []string{"none of 3", "step-3: no_marker", "too_old", "step-2"}},
		{"nothing there", ruled("select", t.TempDir()), 65, []string{"step-*"}},
		{"nothing of a known format", []string{"select", t.TempDir()}, 65, []string{"no checkpoints", "--pattern"}},
		{"two runs", []string{"select", runs}, 65, []string{"which is meant", "resnet, vit", "--ignore"}},
		{"no directory", ruled("select", filepath.Join(dir, "none")), 66, []string{"no such directory"}},
		{"no directory to list", ruled("ls", filepath.Join(dir, "none")), 66, []string{"none: no such directory"}},
		{"a file", ruled("select", filepath.Join(dir, "step-1", "weights")), 64, []string{"not a directory"}},
	} {
		if res := look(tt.args...); res.code != tt.code || res.out != "" {
			t.Errorf("%s: %+v", tt.name, res)
		} else {
			for _, s := range tt.says {
				if !strings.Contains(res.err, s) {
					t.Errorf("%s: %q does not say %q", tt.name, res.err, s)
				}
			}
		}
	}
}

// TestCheckpointSelectDeepDown looks closely at what it prints, however many newer ones are whole and too new to count.
func TestCheckpointSelectDeepDown(t *testing.T) {
	dir := steps(t, "step-1", "step-2", "step-3", "step-4", "step-5", "step-6")
	var aside []string
	for n := 2; n <= 6; n++ {
		aside = append(aside, fmt.Sprintf(`{"path":"step-%d","modified":%q}`, n, noon.Add(-time.Duration(7-n)*time.Hour+time.Second).Format(time.RFC3339Nano)))
	}
	if err := os.WriteFile(filepath.Join(dir, ".gangrun.json"), []byte(`{"v":1,"aside":[`+strings.Join(aside, ",")+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	var c format.Checkpoint
	res := look(ruled("select", "-o", "json", dir)...)
	if err := json.Unmarshal([]byte(res.out), &c); err != nil || c.Path != "step-1" || c.Level != format.Manifests {
		t.Errorf("%v: %+v", err, res)
	}
}

// TestCheckpointNames that a terminal or a shell would trip over are quoted, and never printed as the one line of select.
func TestCheckpointNames(t *testing.T) {
	dir := steps(t, "step-\x1b[31m1", "step-\n2")
	if res := look(ruled("ls", dir)...); strings.ContainsAny(res.out, "\x1b") || !strings.Contains(res.out, `"step-\n2"`) ||
		!strings.Contains(res.out, `"step-\x1b[31m1"`) {
		t.Errorf("%+v", res)
	}
	if res := look(ruled("select", dir)...); res.code != codeUnknown || res.out != "" || !strings.Contains(res.err, `step-\n2`) {
		t.Errorf("%+v", res)
	}
	if res := look(ruled("select", "-o", "json", dir)...); res.code != 0 || !strings.Contains(res.out, `"step-\n2"`) {
		t.Errorf("%+v", res)
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

// slow is a file server that takes a second for each answer about a file.
type slow struct{ fstest.MapFS }

func (s slow) Stat(name string) (fs.FileInfo, error) {
	time.Sleep(time.Second)
	return s.MapFS.Stat(name)
}

// TestCheckpointSlow lists what there is when there was no time to look at all closely, and says so.
func TestCheckpointSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := fstest.MapFS{}
		for _, s := range []string{"step-1", "step-2", "step-3"} {
			files[s+"/weights"], files[s+"/DONE"] = &fstest.MapFile{Data: []byte("w"), ModTime: noon}, &fstest.MapFile{Data: []byte("1"), ModTime: noon}
		}
		p := &program{openTree: func(context.Context, string) (fs.FS, error) { return slow{files}, nil }}
		begin := time.Now()
		look := lookWith(p, ruled("ls", "--timeout", "1h", "s3://b")...)
		if look.code != 0 || look.err != "" || strings.Count(look.out, "complete") != 3 {
			t.Fatalf("%+v", look)
		}
		one := time.Since(begin) / 6 // each is read twice
		look = lookWith(p, ruled("ls", "--timeout", (4*one+one/2).String(), "s3://b")...)
		if look.code != 0 || strings.Count(look.out, "complete") != 3 || !strings.Contains(look.err, "the 2 oldest") || !strings.Contains(look.out, "*    3") {
			t.Errorf("%+v", look)
		}
		look = lookWith(p, ruled("ls", "--timeout", (one/2).String(), "s3://b")...)
		if look.code != 0 || strings.Count(look.out, "check_timeout") != 3 || strings.Contains(look.out, "*") ||
			!strings.Contains(look.err, "nothing can be chosen") {
			t.Errorf("%+v", look)
		}
	})
}

func TestCheckpointVerify(t *testing.T) {
	torn, whole := steps(t, "step-1", "step-2", "step-3!"), steps(t, "step-1", "step-2")
	for _, tt := range []struct {
		name string
		args []string
		code int
		out  []string // in the order of the rows
		says string
	}{
		{"all whole", ruled("verify", whole), 0, []string{"step-2", "step-1"}, ""},
		{"one torn", ruled("verify", torn), 65, []string{"torn", "step-3", "step-2", "step-1"}, ""},
		{"the torn one", ruled("verify", filepath.Join(torn, "step-3")), 65, []string{"torn", "no_marker", "step-3"}, ""},
		{"a whole one beside it", ruled("verify", filepath.Join(torn, "step-2")), 0, []string{"complete", "step-2"}, ""},
		{"a whole one, deeply", ruled("verify", "--deep", filepath.Join(torn, "step-2")+"/"), 0, []string{"complete", "step-2"}, ""},
		{"a misspelt one", ruled("verify", filepath.Join(torn, "step-22")), 66, nil, "did you mean step-2?"},
		{"one below another directory", []string{"verify", "--pattern", "*/step-*", "--marker", "DONE",
			filepath.Join(steps(t, "run1/step-1", "run1/step-2!"), "run1", "step-1")}, 0, []string{"complete", "run1/step-1"}, ""},
		{"nothing", ruled("verify", t.TempDir()), 65, nil, "unknown_format"},
		{"nowhere", ruled("verify", filepath.Join(torn, "no", "where")), 66, nil, "where: no such file or directory"},
		{"what is no checkpoint", ruled("verify", filepath.Join(whole, "step-1", "weights")), 64, nil, "neither"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := look(tt.args...)
			if res.code != tt.code || !strings.Contains(res.err, tt.says) || (tt.says == "") != (res.err == "") {
				t.Fatalf("%+v", res)
			}
			rest := res.out
			for _, s := range tt.out {
				_, after, found := strings.Cut(rest, s)
				if !found {
					t.Fatalf("no %q where it should be:\n%s", s, res.out)
				}
				rest = after
			}
			if tt.out == nil && res.out != "" || strings.Contains(res.out, "*") {
				t.Errorf("%+v", res)
			}
			if len(tt.out) > 0 && strings.Count(tt.args[len(tt.args)-1], "step-") == 1 && strings.Count(rest, "complete") > 0 {
				t.Errorf("more than the one:\n%s", res.out)
			}
		})
	}
}

// TestCheckpointUnreadable is neither whole nor torn: unknown.
func TestCheckpointUnreadable(t *testing.T) {
	broken := func(fail string) *program {
		return &program{openTree: func(context.Context, string) (fs.FS, error) {
			return failing{fstest.MapFS{
				"step-1/weights": {Data: []byte("w"), ModTime: noon}, "step-1/DONE": {Data: []byte("1"), ModTime: noon},
				"step-2/weights": {Data: []byte("w"), ModTime: noon}, "step-2/DONE": {Data: []byte("1"), ModTime: noon},
			}, fail}, nil
		}}
	}
	for _, tt := range []struct {
		command, fail string
		code          int
		out           string
	}{
		{"ls", ".", codeUnknown, ""},
		{"ls", "step-2/DONE", 0, "unknown"},
		{"select", ".", codeUnknown, ""},
		{"select", "step-2/DONE", codeUnknown, ""},
		{"select", "step-1/DONE", 0, "s3://bucket/run/step-2\n"},
		{"verify", ".", codeUnknown, ""},
		{"verify", "step-2/DONE", codeUnknown, "unknown"},
	} {
		res := lookWith(broken(tt.fail), ruled(tt.command, "s3://bucket/run")...)
		if res.code != tt.code || !strings.Contains(res.out, tt.out) || tt.out == "" && res.out != "" || tt.code != 0 && tt.out == "" && res.err == "" {
			t.Errorf("%s with %s: %+v", tt.command, tt.fail, res)
		}
	}
}

// failing is a tree of which one file cannot be read.
type failing struct {
	fstest.MapFS
	path string
}

func (f failing) Open(name string) (fs.File, error) {
	if name == f.path {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("input/output error")}
	}
	return f.MapFS.Open(name)
}

func (f failing) Stat(name string) (fs.FileInfo, error) {
	if name == f.path {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: errors.New("input/output error")}
	}
	return f.MapFS.Stat(name)
}

// hanging is a file server that does not answer until the test is over.
type hanging struct{ until chan struct{} }

func (h hanging) Open(name string) (fs.File, error) {
	<-h.until
	return nil, fs.ErrNotExist
}

func TestCheckpointHang(t *testing.T) {
	for _, command := range []string{"ls", "select", "verify"} {
		synctest.Test(t, func(t *testing.T) {
			until := make(chan struct{})
			defer close(until)
			p := &program{openTree: func(context.Context, string) (fs.FS, error) { return hanging{until}, nil }}
			begin := time.Now()
			res := lookWith(p, ruled(command, "--timeout", "10s", "s3://bucket")...)
			if took := time.Since(begin); res.code != codeUnknown || took > 12*time.Second || took < 10*time.Second || !strings.Contains(res.err, "does not answer") {
				t.Errorf("%s after %v: %+v", command, took, res)
			}
		})
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

func TestProgressText(t *testing.T) {
	for _, tt := range []struct {
		read, total int64
		in          time.Duration
		want        string
	}{
		{0, 0, 0, "0 B of 0 B"},
		{1 << 30, 4 << 30, 2 * time.Second, "1 GiB of 4 GiB, 25%, 512 MiB/s"},
		{4 << 30, 4 << 30, 4 * time.Second, "4 GiB of 4 GiB, 100%, 1 GiB/s"},
		{5, 3, time.Millisecond, "5 B of 5 B, 100%"},
	} {
		if got := progressText(tt.read, tt.total, tt.in); got != tt.want {
			t.Errorf("%d of %d in %v: %q, want %q", tt.read, tt.total, tt.in, got, tt.want)
		}
	}
}

// TestProgress draws over itself, and is gone at the end.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		var read, total atomic.Int64
		total.Store(200)
		stop := showProgress(&b, &read, &total)
		read.Store(100)
		time.Sleep(1100 * time.Millisecond)
		stop()
		got := b.String()
		if n := strings.Count(got, "\r"); n != 6 || !strings.HasSuffix(got, "\r\x1b[K") || !strings.Contains(got, "100 B of 200 B") {
			t.Errorf("%d times: %q", n, got)
		}
	})
}

// TestCheckpointCompletion offers the commands of checkpoint, and their flags once each.
func TestCheckpointCompletion(t *testing.T) {
	var b bytes.Buffer
	bashCompletion(&b, completable(&cli.App{Commands: []*cli.Command{checkpointCommand(new(program)), explainCommand()}}))
	if got := b.String(); strings.Count(got, `commands="ls verify select"`) != 1 || strings.Count(got, "--pattern") != 1 || strings.Count(got, "--deep") != 1 {
		t.Error(got)
	}
}
