package file

import (
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
		length := w.number(width)
		if w.err == nil && length > maxNpyHeader {
			return arrays, problem.New(problem.Truncated, "an array has a header of %d bytes", length)
		}
		header := string(w.take(int(min(length, maxNpyHeader))))
		if w.err != nil {
			break
		}
		bytes, known := npyBytes(header)
		if !known {
			return arrays + 1, nil
		}
		if w.skip(bytes); w.err != nil {
			break
		}
		arrays++
	}
	if w.err == errShort {
		return arrays, problem.New(problem.Truncated, "it ends within array %d", arrays+1)
	}
	return arrays, w.err
}

// npyBytes is how long an array is.
func npyBytes(header string) (bytes uint64, ok bool) {
	class, shape := npyType.FindStringSubmatch(header), npyShape.FindStringSubmatch(header)
	if class == nil || shape == nil || strings.ContainsAny(class[1], "OmM") {
		return 0, false
	}
	bytes, err := strconv.ParseUint(class[2], 10, 32)
	if err != nil {
		return 0, false
	}
	if class[1] == "U" {
		bytes *= 4
	}
	for text := range strings.SplitSeq(shape[1], ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 40)
		if err != nil || n > 0 && bytes > 1<<62/n {
			return 0, false
		}
		bytes *= n
	}
	return bytes, true
}
