package file

import (
	"bytes"
	"errors"
	"io"
)

// errShort says that a part of a file ends before what is read in it does.
var errShort = errors.New("ends too early")

// windowSize is how much of a file is held at a time.
const windowSize = 64 << 10

// window reads a part of a file in order, and holds little of it. Its first error stays, and everything read after it is
// zero: who reads looks at err where it matters.
type window struct {
	r        io.ReaderAt
	buf      []byte // holds what lies at from
	at       int    // of buf, the next byte
	from     int64
	end      int64 // of the part, in the file
	err      error
	allocate int
}

// newWindow reads the bytes of r from the offset from up to end, which must not be greater than the size of the file.
func newWindow(r io.ReaderAt, from, end int64) *window {
	w := &window{r: r, from: from, end: end}
	if from < 0 || from > end {
		w.from, w.end, w.err = 0, 0, errShort
	}
	w.allocate = int(min(windowSize, w.end-w.from))
	return w
}

// offset is where in the file the next byte lies.
func (w *window) offset() int64 { return w.from + int64(w.at) }

// left is how many bytes there are still.
func (w *window) left() int64 { return w.end - w.offset() }

// need holds at least n bytes, at most windowSize, and reports whether it does.
func (w *window) need(n int) bool {
	if len(w.buf)-w.at >= n {
		return true
	}
	if w.err != nil {
		return false
	}
	if int64(n) > w.left() {
		w.err = errShort
		return false
	}
	if cap(w.buf) == 0 {
		w.buf = make([]byte, 0, w.allocate)
	}
	rest := copy(w.buf[:cap(w.buf)], w.buf[w.at:])
	w.from, w.at = w.from+int64(w.at), 0
	w.buf = w.buf[:min(int64(cap(w.buf)), w.end-w.from)]
	got, err := w.r.ReadAt(w.buf[rest:], w.from+int64(rest))
	w.buf = w.buf[:rest+got]
	if len(w.buf) >= n {
		return true // what comes after it is tried again when it is wanted
	}
	if err == nil || err == io.EOF {
		err = errShort // it has shrunk since its size was taken
	}
	w.err = err
	return false
}

func (w *window) byte() byte {
	if !w.need(1) {
		return 0
	}
	b := w.buf[w.at]
	w.at++
	return b
}

// peek is the next byte, which stays the next, and zero at the end.
func (w *window) peek() byte {
	if w.left() == 0 || !w.need(1) {
		return 0
	}
	return w.buf[w.at]
}

// take reads n bytes, at most windowSize. They are valid until the next read; nil after an error.
func (w *window) take(n int) []byte {
	if !w.need(n) {
		return nil
	}
	b := w.buf[w.at : w.at+n]
	w.at += n
	return b
}

// number reads a little-endian number of at most eight bytes.
func (w *window) number(bytes int) (n uint64) {
	b := w.take(bytes)
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	return n
}

// skip leaves n bytes out, without reading those that it does not hold.
func (w *window) skip(n uint64) {
	if w.err != nil {
		return
	}
	if n > uint64(w.left()) {
		w.err = errShort
		return
	}
	if n <= uint64(len(w.buf)-w.at) {
		w.at += int(n)
		return
	}
	w.from, w.at, w.buf = w.offset()+int64(n), 0, w.buf[:0]
}

// line reads up to a newline, which it leaves out. Of a line longer than max bytes it returns nothing.
func (w *window) line(max int) []byte {
	length, long := 0, false
	var whole []byte
	for w.need(1) {
		i := bytes.IndexByte(w.buf[w.at:], '\n')
		chunk := w.buf[w.at:]
		if i >= 0 {
			chunk = chunk[:i]
		}
		if length += len(chunk); length > max {
			long, whole = true, nil
		} else if !long {
			whole = append(whole, chunk...)
		}
		w.at += len(chunk)
		if i >= 0 {
			w.at++
			return whole
		}
	}
	return nil
}
