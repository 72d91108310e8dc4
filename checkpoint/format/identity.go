package format

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// identityEnds is how much of the beginning and of the end of a file stands for its content, in bytes, and
// maxIdentityFiles how many files of one checkpoint do; the sizes of all stand for the rest.
const (
	identityEnds     = 64 << 10
	maxIdentityFiles = 64
)

// sizeOf is how many bytes there are of one that is not whole, as far as that can be seen.
func (l *look) sizeOf(c *Checkpoint) (size int64) {
	paths, err := l.filesOf(c)
	if err != nil {
		return 0
	}
	for _, name := range paths {
		if info, err := l.stat(name); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
	}
	return size
}

// identity stands for the content of a checkpoint that says no step: two that differ were written by different saves.
func (l *look) identity(c *Checkpoint) (string, error) {
	paths, err := l.filesOf(c)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for i, name := range paths {
		f, err := l.open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		sum.Write([]byte(strings.TrimPrefix(name, c.Path)))
		sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(f.size)))
		if i < maxIdentityFiles {
			ends := make([]byte, min(f.size, identityEnds))
			for _, at := range []int64{0, f.size - int64(len(ends))} {
				if n, err := f.ReadAt(ends, at); n < len(ends) {
					f.close()
					return "", err
				}
				sum.Write(ends)
			}
		}
		f.close()
	}
	return hex.EncodeToString(sum.Sum(nil)[:12]), nil
}

// filesOf lists the files of a checkpoint.
func (l *look) filesOf(c *Checkpoint) (paths []string, err error) {
	switch info, err := l.stat(c.Path); {
	case c.save != nil && !c.save.directory:
		for _, m := range c.save.members {
			paths = append(paths, m.path)
		}
	case errors.Is(err, fs.ErrNotExist): // files of one stem
		d, err := l.dir(path.Dir(c.Path))
		if err != nil {
			return nil, err
		}
		for _, name := range startingWith(d, path.Base(c.Path)+".") {
			if d.isFile(name) {
				paths = append(paths, d.join(name))
			}
		}
	case err != nil:
		return nil, err
	case info.IsDir():
		if err := l.filesBelow(c.Path, 0, &paths); err != nil {
			return nil, err
		}
	default:
		paths = []string{c.Path}
	}
	return paths, nil
}

// filesBelow lists the files of a directory and of those in it.
func (l *look) filesBelow(name string, depth int, paths *[]string) error {
	d, err := l.dir(name)
	if err != nil {
		return err
	}
	for _, entry := range d.names {
		switch {
		case strings.HasPrefix(entry, ".gangrun"): // our own
		case d.isFile(entry) && len(*paths) < maxMembers:
			*paths = append(*paths, d.join(entry))
		case d.isDir(entry) && depth < maxOrbaxDepth && entry != quarantined:
			if err := l.filesBelow(d.join(entry), depth+1, paths); err != nil {
				return err
			}
		}
	}
	return nil
}
