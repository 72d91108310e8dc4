package file

import (
	"io"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Files of MXNet's begin with a magic number and a reserved one; then come how many arrays there are, each with a magic number of its
// own, and their names (NDArray::Save in src/ndarray/ndarray.cc).
const ndarrayMagic = "\x12\x01\x00\x00\x00\x00\x00\x00"

// IsNDArrays reports whether a file begins as what MXNet saves its parameters in.
func IsNDArrays(head []byte) bool { return strings.HasPrefix(string(head), ndarrayMagic) }

// ndarrayBytes is how long an element is, by the number of its type.
var ndarrayBytes = map[uint64]uint64{0: 4, 1: 8, 2: 2, 3: 1, 4: 4, 5: 1, 6: 8, 7: 1, 12: 2}

// NDArrays follows such a file to its end, without the bytes of its arrays, and returns their names. ErrNoShape says that there is one
// of which nothing is known.
func NDArrays(r io.ReaderAt, size int64) (names []string, err error) {
	w := newWindow(r, 0, size)
	w.skip(uint64(len(ndarrayMagic)) + 8)
	for arrays := w.number(8); arrays > 0 && w.err == nil; arrays-- {
		if known := w.ndarray(); w.err == nil && !known {
			return nil, ErrNoShape
		}
	}
	for left := w.number(8); left > 0 && w.err == nil; left-- {
		length := w.number(8)
		if w.err == nil && length > maxText || len(names) > maxShapes {
			return nil, ErrNoShape
		}
		names = append(names, string(w.take(int(length))))
	}
	switch {
	case w.err == errShort:
		return nil, problem.New(problem.Truncated, "it ends within its arrays")
	case w.err != nil:
		return nil, w.err
	case w.left() > 0:
		return nil, problem.New(problem.SizeMismatch, "%d bytes follow its arrays", w.left())
	}
	return names, nil
}

// ndarray leaves out one array, and reports whether its form is known: a dense one of either of the newer versions.
func (w *window) ndarray() (known bool) {
	if magic := w.number(4); magic != 0xf993fac9 && magic != 0xf993faca || w.number(4) != 0 {
		return false
	}
	length := uint64(1)
	dims := w.number(4)
	if dims > 32 {
		return false
	}
	for range dims {
		of := w.number(8)
		if of > 0 && length > 1<<56/of {
			return false
		}
		length *= of
	}
	if dims == 0 || length == 0 {
		return false // of a shape that was not known yet: nothing follows, or something else
	}
	w.skip(8) // where it was
	bytes, known := ndarrayBytes[w.number(4)]
	w.skip(length * bytes)
	return known || w.err != nil
}
