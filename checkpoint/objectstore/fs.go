package objectstore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"sync"
	"time"
)

// store is what is behind an FS.
type store interface {
	// list lists a directory, or more: the base of the tree is it or is above it. A directory that is not in a deep
	// tree does not exist. The error is an fs.ErrNotExist when the store says so.
	list(dir string) (*tree, error)
	// String is its URL, for messages.
	String() string
	// read asks for n bytes at an offset, of an object of this version if one is given.
	read(name string, o *object, off, n int64, version string) (*answer, error)
}

// remoteFS is one look at a store.
type remoteFS struct {
	ctx   context.Context
	store store

	mu       sync.Mutex
	listings map[string]*listing // those listed; nil when there is none
	calls    map[string]*call
	entries  int
}

// call is a listing on its way.
type call struct {
	done chan struct{}
	err  error
}

var (
	_ fs.ReadDirFS = (*remoteFS)(nil)
	_ fs.StatFS    = (*remoteFS)(nil)
)

func newFS(ctx context.Context, s store) *remoteFS {
	return &remoteFS{ctx: ctx, store: s, listings: make(map[string]*listing), calls: make(map[string]*call)}
}

// Open opens a file or a directory.
func (f *remoteFS) Open(name string) (fs.File, error) {
	i, err := f.lookup("open", name)
	if err != nil {
		return nil, err
	}
	if i.object == nil {
		return &directory{f: f, info: i, path: name}, nil
	}
	return &file{f: f, info: i, path: name}, nil
}

// Stat looks at a file or a directory.
func (f *remoteFS) Stat(name string) (fs.FileInfo, error) {
	i, err := f.lookup("stat", name)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// ReadDir lists a directory, sorted by names.
func (f *remoteFS) ReadDir(name string) ([]fs.DirEntry, error) {
	i, err := f.lookup("readdir", name)
	if err != nil {
		return nil, err
	}
	if i.object != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDir}
	}
	return f.entriesOf(name)
}

var errNotDir = fmt.Errorf("not a directory")

func (f *remoteFS) entriesOf(name string) ([]fs.DirEntry, error) {
	d, err := f.listing(name)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	names := d.names()
	entries := make([]fs.DirEntry, len(names))
	for i, n := range names {
		entries[i] = fs.FileInfoToDirEntry(d.info(n))
	}
	return entries, nil
}

// lookup finds a file or a directory in the listing of the directory that holds it.
func (f *remoteFS) lookup(op, name string) (*info, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		if _, err := f.listing("."); err != nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: err}
		}
		return &info{name: "."}, nil
	}
	d, err := f.listing(path.Dir(name))
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	i := d.info(path.Base(name))
	if i == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return i, nil
}

// listing is what a directory holds, listed now if that was not done yet. A caller that asks for one that is being
// listed waits for it.
func (f *remoteFS) listing(dir string) (*listing, error) {
	for {
		f.mu.Lock()
		if d, found := f.known(dir); found {
			f.mu.Unlock()
			switch {
			case d != nil:
				return d, nil
			case dir == ".":
				return nil, fmt.Errorf("nothing is below %s: %w", f.store, fs.ErrNotExist)
			}
			return nil, fs.ErrNotExist
		}
		c, running := f.calls[dir]
		if !running {
			c = &call{done: make(chan struct{})}
			f.calls[dir] = c
		}
		f.mu.Unlock()

		if running {
			<-c.done // it ends with the context
		} else {
			t, err := f.store.list(dir)
			f.mu.Lock()
			if err == nil {
				err = f.learn(dir, t)
			}
			c.err = err
			delete(f.calls, dir)
			f.mu.Unlock()
			close(c.done)
		}
		if c.err != nil {
			return nil, c.err
		}
	}
}

// known is a directory that was listed, or is known not to be there.
func (f *remoteFS) known(dir string) (*listing, bool) {
	if d, found := f.listings[dir]; found {
		return d, true
	}
	for name := dir; name != "."; {
		parent := path.Dir(name)
		if d, found := f.listings[parent]; found {
			return nil, d == nil || !d.dirs[path.Base(name)]
		}
		name = parent
	}
	return nil, false
}

// learn takes what was listed. What is known already stays as it is.
func (f *remoteFS) learn(dir string, t *tree) error {
	if f.entries += t.entries; f.entries > maxEntries {
		return fmt.Errorf("more than %d files and directories", maxEntries)
	}
	for name, d := range t.listings {
		if _, found := f.listings[name]; !found {
			f.listings[name] = d
		}
	}
	if !t.exists {
		f.listings[t.base] = nil
	}
	if _, found := f.listings[dir]; !found {
		f.listings[dir] = nil
	}
	return nil
}

// info is a file, or a directory where there is no object.
type info struct {
	name   string
	object *object
}

// info is nil when there is no such name.
func (f *listing) info(name string) *info {
	if f.dirs[name] {
		return &info{name: name}
	}
	if o := f.files[name]; o != nil {
		return &info{name, o}
	}
	return nil
}

func (i *info) Name() string { return i.name }
func (i *info) IsDir() bool  { return i.object == nil }
func (i *info) Sys() any     { return nil }

func (i *info) Size() int64 {
	if i.object == nil {
		return 0
	}
	return i.object.size
}

func (i *info) Mode() fs.FileMode {
	if i.object == nil {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// ModTime is zero for directories, which stores do not have, and where a manifest gives none.
func (i *info) ModTime() time.Time {
	if i.object == nil {
		return time.Time{}
	}
	return i.object.modified
}

// directory is an open directory.
type directory struct {
	f       *remoteFS
	info    *info
	path    string
	entries []fs.DirEntry
	read    bool
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *directory) Close() error               { return nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: fmt.Errorf("is a directory")}
}

func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		entries, err := d.f.entriesOf(d.path)
		if err != nil {
			return nil, err
		}
		d.entries, d.read = entries, true
	}
	if n <= 0 {
		n = len(d.entries)
	} else if len(d.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.entries))
	part := d.entries[:n:n]
	d.entries = d.entries[n:]
	return part, nil
}

// asRange is the header that asks for n bytes at an offset.
func asRange(off, n int64, version string) http.Header {
	h := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", off, off+n-1)}}
	if strongTag(version) {
		h.Set("If-Match", version)
	}
	return h
}
