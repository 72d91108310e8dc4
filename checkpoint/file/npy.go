package file

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// maxNpyHeader bounds what stands before an array.
const maxNpyHeader = 64 << 10

var (
	npyType  = regexp.MustCompile(`'descr': '[<>|=]([a-zA-Z])(\d+)'`)
	npyShape = regexp.MustCompile(`'shape': \(([\d, ]*)\)`)
)

// Npy looks at a file of numpy's arrays, one behind another to its end, and counts them. Of arrays whose length their type
// does not say it looks no further.
func Npy(r io.ReaderAt, size int64) (arrays int, err error) {
	w := newWindow(r, 0, size)
	if w.peek() == '{' {
		w.line(maxNpyHeader)
	}
	for w.left() > 0 {
		if magic := string(w.take(len(npyMagic))); w.err == nil && magic != npyMagic {
			return arrays, problem.New(problem.SizeMismatch, "%d bytes follow its %d arrays", w.left()+int64(len(npyMagic)), arrays)
		}
		version := w.number(2) & 0xff
		width := 2
		if version > 1 {
			width = 4
		}
		before := w.number(width)
		if w.err == nil && before > maxNpyHeader {
			return arrays, problem.New(problem.Truncated, "an array has a header of %d bytes", before)
		}
		header := string(w.take(int(min(before, maxNpyHeader))))
		if w.err != nil {
			break
		}
		length, known := npyBytes(header)
		if !known {
			return arrays + 1, nil
		}
		if w.skip(length); w.err != nil {
			break
		}
		arrays++
	}
	if w.err == errShort {
		return arrays, problem.New(problem.Truncated, "it ends within array %d", arrays+1)
	}
	return arrays, w.err
}

// NpyObjects is where the pickle begins of an array of objects, which is all that is in a file: numpy.save writes a dict so.
func NpyObjects(r io.ReaderAt, size int64) (from int64, ok bool) {
	head := make([]byte, min(size, 512))
	if err := readAt(r, head, 0); err != nil || !IsNpy(head) {
		return 0, false
	}
	end := bytes.IndexByte(head, '\n')
	return int64(end) + 1, bytes.Contains(head[:end+1], []byte("'descr': '|O'"))
}

// npyBytes is how long an array is.
func npyBytes(header string) (n uint64, ok bool) {
	class, shape := npyType.FindStringSubmatch(header), npyShape.FindStringSubmatch(header)
	if class == nil || shape == nil || strings.ContainsAny(class[1], "OmM") {
		return 0, false
	}
	n, err := strconv.ParseUint(class[2], 10, 32)
	if err != nil {
		return 0, false
	}
	if class[1] == "U" {
		n *= 4
	}
	for text := range strings.SplitSeq(shape[1], ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		of, err := strconv.ParseUint(text, 10, 40)
		if err != nil || of > 0 && n > 1<<62/of {
			return 0, false
		}
		n *= of
	}
	return n, true
}
