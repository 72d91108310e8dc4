package format

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// op is one thing that a framework does to the file system while it saves. Each that has an effect of its own comes at a
// later second.
type op func(at *disk)

// disk is a directory in which a save is played.
type disk struct {
	t    testing.TB
	root string
	now  time.Time
	born map[string]time.Time // when each file was made; writing over it keeps that
}

// firstSecond is when every play begins, long ago: nothing counts as being written because the test is quick.
var firstSecond = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newDisk(t testing.TB) *disk { return &disk{t, t.TempDir(), firstSecond, map[string]time.Time{}} }

func (d *disk) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

func (d *disk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// play does the operations, ten seconds apart.
func (d *disk) play(ops ...op) {
	d.t.Helper()
	for _, o := range ops {
		d.now = d.now.Add(10 * time.Second)
		o(d)
	}
}

func (d *disk) fs() fs.FS { return &bornFS{os.DirFS(d.root), d} }

// bornFS is a tree on a disk that knows when each file was made.
type bornFS struct {
	fs.FS
	d *disk
}

func (f *bornFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }

func (f *bornFS) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(f.FS, name) }

func (f *bornFS) ReadLink(name string) (string, error) { return fs.ReadLink(f.FS, name) }

func (f *bornFS) Made(name string) (time.Time, bool) {
	at, ok := f.d.born[name]
	return at, ok
}

// copied is how a tree looks that was copied one file after the other, each at its own time, with the marker first.
func copied(marker string) op {
	return func(d *disk) {
		d.t.Helper()
		at := d.now
		d.must(filepath.WalkDir(d.root, func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			rel, err := filepath.Rel(d.root, p)
			d.must(err)
			when := at
			if rel != marker {
				d.now = d.now.Add(10 * time.Second)
				when = d.now
			}
			d.born[filepath.ToSlash(rel)] = when
			return os.Chtimes(p, when, when)
		}))
	}
}

// write writes a file, and the directories above it.
func write(name string, data []byte) op {
	return func(d *disk) {
		d.t.Helper()
		d.must(os.MkdirAll(filepath.Dir(d.path(name)), 0o755))
		if _, there := d.born[name]; !there {
			d.born[name] = d.now
		}
		d.must(os.WriteFile(d.path(name), data, 0o644))
		d.must(os.Chtimes(d.path(name), d.now, d.now))
	}
}

func writeText(name, text string) op { return write(name, []byte(text)) }

func mkdir(name string) op {
	return func(d *disk) { d.t.Helper(); d.must(os.MkdirAll(d.path(name), 0o755)) }
}

func rename(from, to string) op {
	return func(d *disk) {
		d.t.Helper()
		d.must(os.MkdirAll(filepath.Dir(d.path(to)), 0o755))
		d.must(os.Rename(d.path(from), d.path(to)))
		for name, at := range maps.Clone(d.born) {
			if rest, below := strings.CutPrefix(name, from); below && (rest == "" || rest[0] == '/') {
				delete(d.born, name)
				d.born[to+rest] = at
			}
		}
	}
}

func remove(name string) op {
	return func(d *disk) {
		d.t.Helper()
		d.must(os.RemoveAll(d.path(name)))
		maps.DeleteFunc(d.born, func(of string, _ time.Time) bool { return of == name || strings.HasPrefix(of, name+"/") })
	}
}

func symlink(to, name string) op {
	return func(d *disk) { d.t.Helper(); _ = os.Remove(d.path(name)); d.must(os.Symlink(to, d.path(name))) }
}

// truncated cuts a file to n bytes, or by -n bytes, and keeps its time.
func truncated(name string, n int64) op {
	return func(d *disk) {
		d.t.Helper()
		info, err := os.Stat(d.path(name))
		d.must(err)
		if n < 0 {
			n += info.Size()
		}
		d.must(os.Truncate(d.path(name), n))
		d.must(os.Chtimes(d.path(name), info.ModTime(), info.ModTime()))
	}
}

// changed gives a file another content and keeps its time.
func changed(name string, change func([]byte) []byte) op {
	return func(d *disk) {
		d.t.Helper()
		info, err := os.Stat(d.path(name))
		d.must(err)
		data, err := os.ReadFile(d.path(name))
		d.must(err)
		d.must(os.WriteFile(d.path(name), change(data), 0o644))
		d.must(os.Chtimes(d.path(name), info.ModTime(), info.ModTime()))
	}
}

// touched makes a file look as if it was written now.
func touched(name string) op {
	return func(d *disk) { d.t.Helper(); d.must(os.Chtimes(d.path(name), d.now, d.now)) }
}

func appended(name string, tail []byte) op {
	return changed(name, func(b []byte) []byte { return append(b, tail...) })
}

func zeroed(name string, from, to int) op {
	return changed(name, func(b []byte) []byte { clear(b[from:to]); return b })
}

// see finds and checks everything in the root.
func see(t testing.TB, fsys fs.FS, o Options) []*Checkpoint {
	t.Helper()
	found, err := Find(context.Background(), fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found.Checkpoints {
		Check(context.Background(), fsys, c, o)
	}
	return found.Checkpoints
}

// told is the path, the step and what is wrong of everything that these operations leave.
func told(t testing.TB, ops []op) (lines []string) {
	t.Helper()
	d := newDisk(t)
	d.play(ops...)
	for _, c := range see(t, d.fs(), Options{Level: Manifests}) {
		lines = append(lines, fmt.Sprintf("%s %d %s", c.Path, c.Step, c.Reason))
	}
	return lines
}

// one wants a single checkpoint of this path.
func one(t testing.TB, cs []*Checkpoint, path string) *Checkpoint {
	t.Helper()
	for _, c := range cs {
		if c.Path == path {
			return c
		}
	}
	t.Fatalf("no %q among %s", path, list(cs))
	return nil
}

func list(cs []*Checkpoint) string {
	var b strings.Builder
	for _, c := range cs {
		fmt.Fprintf(&b, "\n  %s step %d %s complete=%v resumable=%v %s %s", c.Path, c.Step, c.Format, c.Complete, c.Resumable,
			c.Reason, c.Detail)
	}
	return b.String()
}

// playPrefixes plays every beginning of a save and wants the checkpoint of this path to be complete at its end alone, at
// every level but the one of names. legal are the numbers of operations after which it is complete already.
func playPrefixes(t *testing.T, o Options, path string, ops []op, legal ...int) {
	t.Helper()
	for n := range len(ops) + 1 {
		d := newDisk(t)
		d.play(ops[:n]...)
		want := n == len(ops) || slices.Contains(legal, n)
		for _, level := range []Level{Ends, Manifests, Everything} {
			o.Level = level
			complete, why := false, "not found"
			for _, c := range see(t, d.fs(), o) {
				if c.Path == path {
					complete, why = c.Complete, fmt.Sprintf("%s: %s", c.Reason, c.Detail)
				}
			}
			if complete != want {
				t.Errorf("after %d of %d operations, level %d: complete=%v, want %v (%s)", n, len(ops), level, complete, want, why)
			}
		}
	}
}

// mutation is one thing that goes wrong with a checkpoint that was whole.
type mutation struct {
	name string
	ops  []op
	want problem.Reason // empty: it stays complete and resumable
}

// mutate does each to a copy of a whole checkpoint and wants the reason at the level Manifests.
func mutate(t *testing.T, o Options, path string, save []op, mutations []mutation) {
	t.Helper()
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			d := newDisk(t)
			d.play(save...)
			d.play(m.ops...)
			if o.Level == Names {
				o.Level = Manifests
			}
			c := one(t, see(t, d.fs(), o), path)
			if c.Reason != m.want || (c.Reason == "") != (c.Complete && c.Resumable) {
				t.Errorf("complete=%v resumable=%v reason %q (%s), want %q", c.Complete, c.Resumable, c.Reason, c.Detail, m.want)
			}
		})
	}
}

// failing is a tree in which one path cannot be read.
type failing struct {
	fs.FS
	path string
	err  error
}

func (f failing) Open(name string) (fs.File, error) {
	if name == f.path {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	return f.FS.Open(name)
}

func (f failing) Stat(name string) (fs.FileInfo, error) {
	if name == f.path {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: f.err}
	}
	return fs.Stat(f.FS, name)
}
