package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gangrun/gangrun/checkpoint/format"
)

// previous is what a pointer's old content is kept under.
const previous = ".gangrun-prev"

// noPointer is what repoint reports when there was none.
const noPointer = "none"

// maxPointer bounds what is read of a pointer.
const maxPointer = 1 << 20

// repoint makes the framework's own pointer name the checkpoint that was chosen. It reports what the pointer said before,
// empty when there was nothing to change.
func repoint(root string, c format.Checkpoint) (was string, err error) {
	p := c.Pointer()
	if p == nil {
		return "", nil
	}
	name := filepath.Join(root, filepath.FromSlash(c.Root), p.Name)
	now, err := readPointer(name)
	missing := errors.Is(err, fs.ErrNotExist) // then the framework would find nothing at all
	if err != nil && !missing {
		return "", err
	}
	if missing && !p.Made(c) {
		return "", nil
	}
	next := p.Point(c, now)
	if !missing {
		if p.To(now) == p.To(next) {
			return "", nil
		}
		if err := replaceFile(name+previous, now); err != nil {
			return "", err
		}
	}
	if err := replaceFile(name, next); err != nil {
		return "", err
	}
	if missing {
		return noPointer, nil
	}
	return cmp.Or(p.To(now), "nothing"), nil
}

func readPointer(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxPointer+1))
	if err == nil && len(data) > maxPointer {
		err = fmt.Errorf("%s: larger than %d bytes", name, maxPointer)
	}
	return data, err
}
