package format

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gangrun/gangrun/checkpoint/problem"
	"github.com/gangrun/gangrun/exitcodes/crash"
)

// Options say how to look.
type Options struct {
	Format string // one of Names; empty to find out
	Rule   *Rule  // what the user says about checkpoints of no known format
	Level  Level
	// Ignore are patterns as of [path.Match] of what does not count, by their name or by their path in the tree.
	Ignore []string
	// Read, when set, is told how many bytes were read at the level Everything.
	Read func(n int)
	// Unpacked, when set, counts what came out of compressed files, which is bounded, for several looks together.
	Unpacked *atomic.Int64
}

const (
	// maxEntries bounds the names of one directory, and so the memory that a hostile one can take.
	maxEntries = 1 << 18
	// parallel is how many files are read at once: what waits for a file server should not wait in a row.
	parallel = 8
	// maxSmall bounds a file that is read as a whole.
	maxSmall = 16 << 20
)

// look is one look at a tree. It remembers the directories that it has read.
type look struct {
	Options
	ctx  context.Context
	fsys fs.FS

	taken map[string]bool // paths that a format has claimed

	mu   sync.Mutex
	dirs map[string]*dir

	unpacking sync.Mutex // one compressed file at a time
}

func newLook(ctx context.Context, fsys fs.FS, o Options) *look {
	if o.Unpacked == nil {
		o.Unpacked = new(atomic.Int64)
	}
	return &look{Options: o, ctx: ctx, fsys: fsys, dirs: make(map[string]*dir)}
}

// opened is an open file of which any part can be read.
type opened struct {
	io.ReaderAt
	path string
	size int64
	mod  time.Time
	f    fs.File
}

func (f *opened) close() { _ = f.f.Close() }

// open opens a regular file.
func (l *look) open(name string) (*opened, error) {
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := l.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = problem.New(problem.UnknownFormat, "%s is not a regular file", name)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		_ = f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("cannot be read at an offset")}
	}
	return &opened{at, name, info.Size(), info.ModTime(), f}, nil
}

// stat looks at a file without opening it.
func (l *look) stat(name string) (fs.FileInfo, error) {
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	return fs.Stat(l.fsys, name)
}

// small reads a file of at most max bytes, maxSmall when max is 0, as a whole.
func (l *look) small(name string, max int64) ([]byte, error) {
	f, err := l.open(name)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if max = cmp.Or(max, maxSmall); f.size > max {
		return nil, problem.New(problem.SizeMismatch, "%s has %d bytes, at most %d expected", name, f.size, max)
	}
	data := make([]byte, f.size)
	if n, err := f.ReadAt(data, 0); err != nil && (err != io.EOF || n < len(data)) {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return data, nil
}

// each calls check for every name, several at once, and returns the first error in the order of the names.
func (l *look) each(names []string, check func(name string) error) error {
	return l.eachOf(len(names), func(i int) error { return check(names[i]) })
}

// eachOf does so for the numbers below n.
func (l *look) eachOf(n int, check func(i int) error) error {
	if n == 0 {
		return l.ctx.Err()
	}
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		next   int
		worst  = n
		failed error
	)
	for range min(parallel, n) {
		wait.Go(crash.Guard(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= worst
				mu.Unlock()
				if stop {
					return
				}
				err := l.ctx.Err()
				if err == nil {
					err = check(i)
				}
				if err != nil {
					mu.Lock()
					if i < worst {
						worst, failed = i, err
					}
					mu.Unlock()
				}
			}
		}))
	}
	wait.Wait()
	return failed
}

// part is one file that a checkpoint consists of, as it was found.
type part struct {
	path string
	size int64
	mod  time.Time
}

// parts looks at the files of these paths, which all have to be there, and counts them and their bytes into the
// checkpoint. It returns them in the order of the paths. Empty ones are an error unless mayBeEmpty.
func (l *look) parts(c *Checkpoint, paths []string, mayBeEmpty bool) ([]part, error) {
	found := make([]part, len(paths))
	err := l.eachOf(len(paths), func(i int) error {
		p := paths[i]
		info, err := l.stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return problem.New(problem.MissingShard, "%s is missing", p)
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return problem.New(problem.MissingShard, "%s is not a regular file", p)
		case info.Size() == 0 && !mayBeEmpty:
			return problem.New(problem.EmptyFile, "%s is empty", p)
		}
		found[i] = part{p, info.Size(), info.ModTime()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		c.count(p)
	}
	return found, nil
}

// count takes a part into the checkpoint's size and time.
func (c *Checkpoint) count(p part) {
	c.Size += p.size
	c.parts = append(c.parts, p)
	if c.ModifiedFrom != ModifiedMarker && c.ModifiedFrom != ModifiedInternal && p.mod.After(c.Modified) {
		c.Modified, c.ModifiedFrom = p.mod, ModifiedShard
	}
}

// under reports whether a path from within a file, with slashes, stays within a directory.
func under(name string) bool { return fs.ValidPath(name) && name != "." }

// digits reads a whole non-negative decimal number of at most 18 digits.
func digits(s string) (n int64, ok bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// numbered reads the number in a name that is nothing but prefix, digits and suffix.
func numbered(name, prefix, suffix string) (n int64, ok bool) {
	rest, found := strings.CutPrefix(name, prefix)
	if !found {
		return 0, false
	}
	if rest, found = strings.CutSuffix(rest, suffix); !found {
		return 0, false
	}
	return digits(rest)
}
