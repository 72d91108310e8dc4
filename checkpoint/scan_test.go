package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func mustScan(t *testing.T, s *Scanner, closely ...string) Scan {
	t.Helper()
	scan, err := s.Scan(t.Context(), closely...)
	if err != nil {
		t.Fatal(err)
	}
	return scan
}

func TestScan(t *testing.T) {
	tr := newTree(t, "step-1", "step-20", "step-3?", "step-100!", "other")
	scan := mustScan(t, tr.scanner())
	if got, want := paths(scan.Checkpoints), "step-100 no_marker, step-20, step-3 truncated, step-1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if scan.Format != "custom" || scan.More {
		t.Errorf("format %q, more %v", scan.Format, scan.More)
	}
	for _, c := range scan.Checkpoints {
		if wantWhole := c.Path == "step-1" || c.Path == "step-20"; c.Complete != wantWhole || c.Resumable != wantWhole {
			t.Errorf("%+v", c)
		}
	}
}

// TestScanNothing is no error: what does not exist has no checkpoints.
func TestScanNothing(t *testing.T) {
	for name, dir := range map[string]string{"empty": t.TempDir(), "no directory": filepath.Join(t.TempDir(), "none")} {
		s := Scanner{FS: os.DirFS(dir)}
		if scan := mustScan(t, &s); len(scan.Checkpoints) != 0 || scan.Format != "" || scan.More {
			t.Errorf("%s: %+v", name, scan)
		}
	}
}

// TestScanDepth looks closely at the newest ones alone, and at the older ones that it is told of.
func TestScanDepth(t *testing.T) {
	tr := newTree(t)
	for n := range 8 {
		tr.save(fmt.Sprintf("step-%d", n))
	}
	tr.save("step-8?") // does not count as one of the three
	w := watch(os.DirFS(tr.dir))
	s := Scanner{FS: w, Options: options()}
	scan := mustScan(t, &s)
	if got := slices.Sorted(maps.Keys(w.takeOpened())); !slices.Equal(got, []string{"step-5", "step-6", "step-7", "step-8"}) {
		t.Errorf("looked closely at %v", got)
	}
	if len(scan.Checkpoints) != 9 {
		t.Errorf("%s", paths(scan.Checkpoints))
	}
	for _, c := range scan.Checkpoints {
		want := format.Manifests
		if c.Step < 5 {
			want = format.Names
		}
		if c.Level != want {
			t.Errorf("%s was looked at at level %d, want %d", c.Path, c.Level, want)
		}
	}
	mustScan(t, &s, "step-1")
	if got := slices.Sorted(maps.Keys(w.takeOpened())); !slices.Equal(got, []string{"step-1"}) {
		t.Errorf("looked closely at %v", got)
	}
}

// TestScanMost does not look through all that a run has ever left.
func TestScanMost(t *testing.T) {
	for _, n := range []int{most, most + 1} {
		tr := newTree(t, fmt.Sprintf("step-%d!", n))
		for i := range n {
			tr.save(fmt.Sprintf("step-%d", i))
		}
		scan := mustScan(t, tr.scanner())
		if len(scan.Checkpoints) != most+1 || scan.More != (n > most) { // one is torn
			t.Errorf("%d of %d whole ones, more: %v", len(scan.Checkpoints)-1, n, scan.More)
		}
	}
}

// TestScanCache looks closely once at what does not change, and again at what was written again.
func TestScanCache(t *testing.T) {
	tr := newTree(t, "step-1", "step-2?", "step-3")
	w := watch(os.DirFS(tr.dir))
	s := Scanner{FS: w, Options: options()}
	first := mustScan(t, &s)
	if got := w.takeOpened(); len(got) != 3 {
		t.Fatalf("looked closely at %v", got)
	}
	if again := mustScan(t, &s, "step-1"); asJSON(t, again) != asJSON(t, first) {
		t.Errorf("%s, was %s", asJSON(t, again), asJSON(t, first))
	}
	if got := w.takeOpened(); len(got) != 0 {
		t.Errorf("nothing has changed, and it looked at %v", got)
	}

	tr.save("step-2") // by a later attempt, and whole
	tr.save("step-3?")
	scan := mustScan(t, &s)
	if got := slices.Sorted(maps.Keys(w.takeOpened())); !slices.Equal(got, []string{"step-2", "step-3"}) {
		t.Errorf("looked closely at %v", got)
	}
	if scan.Checkpoints[0].Complete || !scan.Checkpoints[1].Complete {
		t.Errorf("%s", paths(scan.Checkpoints))
	}

	// A part that went without a trace in the others is noticed by names and sizes.
	tr.remove("step-1/w.safetensors")
	if scan = mustScan(t, &s); scan.Checkpoints[2].Complete {
		t.Errorf("%s", paths(scan.Checkpoints))
	}
}

// TestScanUnknown does not remember that something could not be read.
func TestScanUnknown(t *testing.T) {
	tr := newTree(t, "step-1", "step-2")
	w := watch(os.DirFS(tr.dir))
	s := Scanner{FS: w, Options: options()}
	for _, fails := range []map[string]error{w.fails, w.unread} {
		tr.save("step-2")
		fails["step-2/w.safetensors"] = syscall.ESTALE
		scan := mustScan(t, &s)
		if c := scan.Checkpoints[0]; c.Complete || !c.Reason.Unknown() {
			t.Errorf("%s", paths(scan.Checkpoints))
		}
		clear(fails)
		if scan = mustScan(t, &s); !scan.Checkpoints[0].Complete {
			t.Errorf("%s", paths(scan.Checkpoints))
		}
	}
}

// TestScanEIO says that it is unknown where the newest cannot be read, and where the directory cannot; an older one
// does not matter.
func TestScanEIO(t *testing.T) {
	tr := newTree(t, "step-1", "step-2", "step-3!")
	for _, tt := range []struct {
		fails string
		steps []int64 // nil: unknown
	}{
		{".", nil},
		{"step-3/DONE", nil},
		{"step-2", nil},
		{"step-2/DONE", nil},
		{"step-2/w.safetensors", nil},
		{"step-1/w.safetensors", []int64{2}},
		{"step-1", []int64{2}},
	} {
		for _, cause := range []error{syscall.EIO, syscall.ESTALE, fs.ErrPermission} {
			w := watch(os.DirFS(tr.dir))
			w.fails[tt.fails] = cause
			scan, err := (&Scanner{FS: w, Options: options()}).Scan(t.Context())
			var o Offer
			if err == nil {
				o, err = Policy{}.Offer(scan, History{}, Run{}, tr.now)
			}
			switch {
			case tt.steps == nil && (err == nil || !Unknown(err) || !strings.Contains(err.Error(), tt.fails)):
				t.Errorf("%s %v: %v, %v", tt.fails, cause, o, err)
			case tt.steps != nil && (err != nil || !slices.Equal(o.Steps, tt.steps)):
				t.Errorf("%s %v: %v, %v", tt.fails, cause, o, err)
			}
		}
	}
}

// hanging is a file server of which every call waits until it is back.
type hanging struct {
	fs.FS
	back   chan struct{}
	opened chan struct{}
}

func (h *hanging) Open(name string) (fs.File, error) {
	select {
	case h.opened <- struct{}{}:
	default:
	}
	<-h.back
	return h.FS.Open(name)
}

// TestScanHang comes back although a system call does not, says that it is unknown, and does not pile up more of them.
func TestScanHang(t *testing.T) {
	tr := newTree(t, "step-1")
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{os.DirFS(tr.dir), make(chan struct{}), make(chan struct{}, 100)}
		s := Scanner{FS: h, Options: options(), Timeout: 10 * time.Second}
		for n := range 3 {
			begin := time.Now()
			_, err := s.Scan(t.Context())
			p, ok := errors.AsType[*problem.Error](err)
			if took := time.Since(begin); !ok || p.Reason != problem.CheckTimeout || !Unknown(err) || took < 10*time.Second || took > 12*time.Second {
				t.Errorf("look %d: %v after %v", n, err, took)
			}
		}
		if n := len(h.opened); n != 1 {
			t.Errorf("%d looks hang at once", n)
		}
		close(h.back)
		if _, err := s.Scan(t.Context()); err != nil && !Unknown(err) {
			t.Errorf("the look that hung: %v", err)
		}
		scan, err := s.Scan(t.Context())
		if err != nil || len(scan.Checkpoints) != 1 || !scan.Checkpoints[0].Complete {
			t.Errorf("after it was back: %+v, %v", scan, err)
		}
	})
}

// TestScanCancelled ends with its context.
func TestScanCancelled(t *testing.T) {
	tr := newTree(t, "step-1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if scan, err := tr.scanner().Scan(ctx); err == nil || !Unknown(err) {
		t.Errorf("%+v, %v", scan, err)
	}
}

// TestScanOpen opens the tree for each look, and an error of that says that it is unknown.
func TestScanOpen(t *testing.T) {
	tr := newTree(t, "step-1")
	opened := 0
	var fail error
	s := Scanner{Options: options(), Open: func(context.Context) (fs.FS, error) { opened++; return os.DirFS(tr.dir), fail }}
	mustScan(t, &s)
	tr.save("step-2")
	if scan := mustScan(t, &s); opened != 2 || len(scan.Checkpoints) != 2 {
		t.Errorf("opened %d times: %s", opened, paths(scan.Checkpoints))
	}
	fail = errors.New("403 Forbidden")
	if _, err := s.Scan(t.Context()); err == nil || !Unknown(err) || !strings.Contains(err.Error(), "403") {
		t.Errorf("%v", err)
	}
}
