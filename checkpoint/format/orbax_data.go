package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// maxOrbaxValue bounds a value, in bytes, that is unpacked to see whether it is whole, and maxOrbaxChunks how many files
// of arrays are read in one item.
const (
	maxOrbaxValue  = 4 << 20
	maxOrbaxChunks = 1 << 16
)

// orbaxData looks at the arrays themselves.
func (l *look) orbaxData(item *dir) error {
	if item.isFile(orbaxManifest) {
		return l.orbaxTree(item)
	}
	return l.orbaxChunks(item)
}

// orbaxTree follows the tree of an item from its manifest to the files of data that it names.
func (l *look) orbaxTree(item *dir) error {
	manifest, err := l.small(item.join(orbaxManifest), 0)
	if err != nil {
		return err
	}
	read := func(name string, at, length int64) (data []byte, err error) {
		if !under(name) {
			return nil, problem.New(problem.BadIndex, "%s leads to %.100q", item.path, name)
		}
		err = l.inside(item.join(name), func(r io.ReaderAt, size int64) error {
			if at+length > size {
				return problem.New(problem.Truncated, "it has %d bytes, at least %d expected", size, at+length)
			}
			data = make([]byte, length)
			n, err := r.ReadAt(data, at)
			if int64(n) == length {
				return nil
			}
			return err
		})
		return data, err
	}
	files, err := file.OCDBTTree(manifest, read)
	if errors.Is(err, file.ErrNoShape) {
		return nil // of a version that is not known
	}
	if err != nil {
		return err
	}
	return l.each(slices.Sorted(maps.Keys(files)), func(name string) error {
		x := files[name]
		if x.Last == 0 || x.Last > maxOrbaxValue {
			info, err := l.stat(item.join(name))
			if err == nil && info.Size() < x.End {
				err = problem.New(problem.Truncated, "%s has %d bytes, at least %d expected", item.join(name), info.Size(), x.End)
			}
			return err
		}
		data, err := read(name, x.End-x.Last, x.Last)
		if err != nil {
			return err
		}
		packed, err := file.Zstd(data)
		if err == nil && !packed && len(data) >= 16 && len(bytes.Trim(data, "\x00")) == 0 {
			err = problem.New(problem.BadIndex, "a value of it is zeros") // an array of zeros is packed too
		}
		if p, wrong := errors.AsType[*problem.Error](err); wrong {
			return problem.New(p.Reason, "%s: %s", item.join(name), p.Detail)
		}
		return err
	})
}

// zarray is what describes an array of zarr, version 2.
type zarray struct {
	Shape  []int64 `json:"shape"`
	Chunks []int64 `json:"chunks"`
}

// orbaxChunks looks at the arrays of an item without OCDBT: a directory for each, with its description and its chunks.
func (l *look) orbaxChunks(item *dir) error {
	left := maxOrbaxChunks
	var walk func(d *dir, depth int) error
	walk = func(d *dir, depth int) error {
		if d.isFile(".zarray") {
			return l.zarrayWhole(d, &left)
		}
		for _, name := range d.dirs(func(name string) bool { return name != "d" && !strings.HasPrefix(name, orbaxProcess) }) {
			if depth == maxOrbaxDepth {
				return nil
			}
			below, err := l.dir(d.join(name))
			if err != nil {
				return err
			}
			if err := walk(below, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(item, 0)
}

func (l *look) zarrayWhole(d *dir, left *int) error {
	text, err := l.small(d.join(".zarray"), 0)
	if err != nil {
		return err
	}
	var a zarray
	if err := json.Unmarshal(text, &a); err != nil {
		return problem.New(problem.BadJSON, "%s: %v", d.join(".zarray"), err)
	}
	want := int64(1)
	for i, n := range a.Shape {
		if i >= len(a.Chunks) || a.Chunks[i] <= 0 || n < 0 {
			return problem.New(problem.BadJSON, "%s: its shape and its chunks do not fit", d.join(".zarray"))
		}
		if want *= (n + a.Chunks[i] - 1) / a.Chunks[i]; want > maxEntries {
			return nil
		}
	}
	chunks := d.files(func(name string) bool { return strings.Trim(name, "0123456789.") == "" && name != "" })
	nested := d.dirs(func(name string) bool { _, ok := digits(name); return ok })
	if len(nested) > 0 {
		return nil // with slashes in the names of the chunks
	}
	if int64(len(chunks)) < want {
		return problem.New(problem.MissingShard, "%s holds %d chunks, %d expected", d.path, len(chunks), want)
	}
	if *left -= len(chunks); *left < 0 {
		return nil
	}
	return l.each(chunks, func(name string) error {
		return l.inside(path.Join(d.path, name), func(r io.ReaderAt, size int64) error {
			if size == 0 {
				return problem.New(problem.EmptyFile, "it is empty")
			}
			data := make([]byte, min(size, maxOrbaxValue))
			if n, err := r.ReadAt(data, 0); n < len(data) {
				return err
			}
			if len(bytes.Trim(data, "\x00")) == 0 && size >= 16 {
				return problem.New(problem.BadIndex, "it is zeros")
			}
			if size > maxOrbaxValue {
				return nil
			}
			_, err := file.Zstd(data)
			return err
		})
	})
}
