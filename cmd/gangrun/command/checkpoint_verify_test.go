package command

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

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
		{"nothing", ruled("verify", t.TempDir()), 65, nil, "nothing there is named like step-*"},
		{"nothing that is known", []string{"verify", t.TempDir()}, 65, nil, "no checkpoints of a known format (others: --pattern, which is"},
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

// TestVerifyWhereARunLooks: what is no state hides no torn one further down, and a tracker that leads to a directory of another name is
// no checkpoint that is missing.
func TestVerifyWhereARunLooks(t *testing.T) {
	state := "\x80\x02}(X\x04\x00\x00\x00stepI5\nX\x09\x00\x00\x00optimizer}(X\x05\x00\x00\x00state}X\x0c\x00\x00\x00param_groups]}auu."
	for name, tt := range map[string]struct {
		files map[string]string
		code  int
		out   string
	}{
		"a torn one below data":        {map[string]string{"stats_1.pkl": "\x80\x02]K\x01a.", "run/ckpt_1.pt": state, "run/ckpt_2.pt": state[:20]}, 65, "run/ckpt_2.pt"},
		"whole ones below data":        {map[string]string{"stats_1.pkl": "\x80\x02]K\x01a.", "run/ckpt_1.pt": state, "run/ckpt_2.pt": state}, 0, "run/ckpt_2.pt"},
		"a borrowed tracker":           {map[string]string{"latest_checkpointed_iteration.txt": "20000", "20000/state.pt": state}, 0, "20000"},
		"a tracker that leads nowhere": {map[string]string{"latest_checkpointed_iteration.txt": "20000", "10000/state.pt": state}, 65, "iter_0020000"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, data := range tt.files {
				p := filepath.Join(dir, filepath.FromSlash(file))
				if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(data), 0o644), os.Chtimes(p, noon, noon)); err != nil {
					t.Fatal(err)
				}
			}
			if res := look("verify", dir); res.code != tt.code || !strings.Contains(res.out, tt.out) {
				t.Errorf("%+v", res)
			}
		})
	}
}
