package file

import (
	"errors"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Unpacked is what comes out of a compressed file, of which no more is kept than its beginning and its end: there is what
// the others say of themselves.
type Unpacked struct {
	Size       int64
	head, tail []byte
}

// errNotKept says that something lies in what is not kept.
var errNotKept = errors.New("is not kept of what was unpacked")

// ErrTooLarge says that more comes out of a file than is unpacked: whether it is whole stays open.
var ErrTooLarge = errors.New("more comes out of it than is unpacked")

// Gunzip unpacks a file to its end, with its checksums, and keeps so many bytes of both ends. Everything is kept of what
// is no larger than both. Unpacking takes what it needs for each piece from spend, and ends with its error.
func Gunzip(r io.ReaderAt, size int64, keep int, spend func(n int) error) (*Unpacked, error) {
	source := &plainReader{r: r, end: size}
	failed := func(err error) error {
		if source.err != nil {
			return source.err // of reading, which says nothing about what is read
		}
		return problem.New(problem.Truncated, "it cannot be unpacked: %v", err)
	}
	z, err := gzip.NewReader(source)
	if err != nil {
		return nil, failed(err)
	}
	u := &Unpacked{}
	ring, at := []byte(nil), 0 // of what came after the head
	piece := make([]byte, 64<<10)
	for {
		n, err := z.Read(piece)
		u.Size += int64(n)
		rest := piece[:n]
		if room := min(keep-len(u.head), n); room > 0 {
			u.head, rest = append(u.head, rest[:room]...), rest[room:]
		}
		for len(rest) > 0 {
			if len(ring) < keep {
				room := min(keep-len(ring), len(rest))
				ring, rest = append(ring, rest[:room]...), rest[room:]
				continue
			}
			moved := copy(ring[at:], rest)
			at, rest = (at+moved)%keep, rest[moved:]
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, failed(err)
		}
		if err := spend(n); err != nil {
			return nil, err
		}
	}
	slices.Reverse(ring[:at]) // in place, as it may be large: the oldest first
	slices.Reverse(ring[at:])
	slices.Reverse(ring)
	u.tail = ring
	return u, nil
}

// ReadAt reads what is kept.
func (u *Unpacked) ReadAt(b []byte, at int64) (n int, err error) {
	for n < len(b) && err == nil {
		from := at + int64(n)
		switch tail := u.Size - int64(len(u.tail)); {
		case from >= u.Size:
			err = io.EOF
		case from < int64(len(u.head)):
			n += copy(b[n:], u.head[from:])
		case from >= tail:
			n += copy(b[n:], u.tail[from-tail:])
		default:
			err = errNotKept
		}
	}
	return n, err
}

// NotKept reports whether an error says that something lies in what is not kept of an unpacked file.
func NotKept(err error) bool { return errors.Is(err, errNotKept) }
