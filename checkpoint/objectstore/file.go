package objectstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	smallFile = 256 << 10 // read as a whole at the first touch
	block     = 64 << 10  // the least that is asked for
	tail      = 128 << 10 // what is asked for at the end: where a zip has its directory
	maxRange  = 4 << 20   // the most that one request asks for, and what a read in a row comes to
	keep      = 4         // parts that are remembered
)

// file is an open file. Bytes near those that were asked for are kept, since formats read a few here and a few there,
// and each request costs as much as 100 KiB do.
type file struct {
	f    *remoteFS
	info *info
	path string

	mu    sync.Mutex
	parts []part // the latest first
	next  int64  // where the last read ended
	ahead int64  // what to ask for when the next read begins there
	pos   int64  // of Read
}

// part is some bytes of a file.
type part struct {
	off  int64
	data []byte
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parts = nil
	return nil
}

func (f *file) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.readAt(p, f.pos)
	f.pos += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// ReadAt reads at an offset. It fails with ErrChanged when the object is no longer the one that was listed or read
// before.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: errors.New("negative offset")}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readAt(p, off)
}

func (f *file) readAt(p []byte, off int64) (n int, err error) {
	size := f.info.object.size
	for n < len(p) {
		at := off + int64(n)
		if at >= size {
			return n, io.EOF
		}
		got := f.kept(p[n:], at)
		if got == 0 {
			if err := f.fetch(at, int64(len(p)-n)); err != nil {
				return n, &fs.PathError{Op: "read", Path: f.path, Err: err}
			}
			continue
		}
		n += got
		f.next = at + int64(got)
	}
	return n, nil
}

func (f *file) kept(p []byte, at int64) int {
	for i, part := range f.parts {
		if at >= part.off && at < part.off+int64(len(part.data)) {
			if i > 0 {
				f.parts = slices.Insert(slices.Delete(f.parts, i, i+1), 0, part)
			}
			return copy(p, part.data[at-part.off:])
		}
	}
	return 0
}

// span decides what to ask for when n bytes at an offset are wanted: never less, up to maxRange.
func span(off, n, size, ahead int64) (from, to int64) {
	switch {
	case size <= smallFile:
		return 0, size
	case off >= size-tail:
		return size - tail, size
	case off < block:
		from = 0
	default:
		from = off
	}
	to = off + max(n, ahead, block)
	if from == 0 {
		to = max(n+off, ahead, block)
	}
	return from, min(to, from+maxRange, size)
}

// fetch asks for n bytes at an offset and what is around them.
func (f *file) fetch(off, n int64) error {
	if off > 0 && off == f.next {
		f.ahead = min(max(2*f.ahead, 2*block), maxRange) // a read in a row
	} else {
		f.ahead = 0
	}
	o := f.info.object
	from, to := span(off, n, o.size, f.ahead)
	o.mu.Lock()
	version := o.version
	o.mu.Unlock()
	a, err := f.f.store.read(f.path, o, from, to-from, version)
	if err != nil {
		return err
	}
	if got := versionOf(a.header); got != "" {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.version != "" && !sameVersion(o.version, got) {
			return fmt.Errorf("%w: its version is %.80q, %.80q expected", ErrChanged, got, o.version)
		}
		if o.version == "" {
			o.version = got
		}
	}
	if to-from > smallFile { // of the large ones, the latest is enough
		f.parts = slices.DeleteFunc(f.parts, func(p part) bool { return len(p.data) > smallFile })
	}
	f.parts = slices.Insert(f.parts, 0, part{from, a.body})
	f.parts = f.parts[:min(len(f.parts), keep)]
	return nil
}

// ranged reads the answer to a request for n bytes at an offset of an object of this size.
func ranged(off, n, size int64) func(*http.Response) ([]byte, error) {
	return func(resp *http.Response) ([]byte, error) {
		switch resp.StatusCode {
		case http.StatusPartialContent:
			first, last, total, ok := contentRange(resp.Header.Get("Content-Range"))
			switch {
			case !ok || first != off:
				return nil, final{fmt.Errorf("Content-Range is %.80q, bytes %d-%d/%d expected",
					resp.Header.Get("Content-Range"), off, off+n-1, size)}
			case total >= 0 && total != size:
				return nil, final{fmt.Errorf("%w: it has %d bytes, %d expected", ErrChanged, total, size)}
			case last != off+n-1:
				return nil, final{fmt.Errorf("%d bytes came, %d expected", last-first+1, n)}
			}
		case http.StatusOK: // the server knows no ranges; the beginning will do
			if resp.ContentLength >= 0 && resp.ContentLength != size {
				return nil, final{fmt.Errorf("%w: it has %d bytes, %d expected", ErrChanged, resp.ContentLength, size)}
			}
			if off != 0 {
				return nil, final{errors.New("the server does not answer range requests, and parts of large files " +
					"cannot be read without: serve them by one that does")}
			}
		default:
			data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
			return data, nil
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(resp.Body, data); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		return data, nil
	}
}

// contentRange reads "bytes 0-9/100"; total is -1 for "*".
func contentRange(s string) (first, last, total int64, ok bool) {
	s, found := strings.CutPrefix(s, "bytes ")
	span, all, slash := strings.Cut(s, "/")
	a, b, dash := strings.Cut(span, "-")
	if !found || !slash || !dash {
		return 0, 0, 0, false
	}
	number := func(s string) int64 {
		n, err := strconv.ParseUint(s, 10, 63)
		ok = ok && err == nil
		return int64(n)
	}
	ok = true
	first, last = number(a), number(b)
	if total = -1; all != "*" {
		total = number(all)
	}
	return first, last, total, ok && last >= first
}

// versionOf is what tells this content of an object from another one.
func versionOf(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" {
		return tag
	}
	return h.Get("Last-Modified")
}

// sameVersion compares entity tags. Some stores list them without their quotes, and some servers weaken them under way.
func sameVersion(a, b string) bool { return plainTag(a) == plainTag(b) }

func plainTag(tag string) string { return strings.Trim(strings.TrimPrefix(tag, "W/"), `"`) }

// strongTag reports whether a version is an entity tag that If-Match may name.
func strongTag(version string) bool {
	return len(version) > 2 && version[0] == '"' && version[len(version)-1] == '"' &&
		!strings.ContainsFunc(version, func(r rune) bool { return r < ' ' || r > '~' })
}
