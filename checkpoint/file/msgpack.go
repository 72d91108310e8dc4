package file

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Extensions of flax (flax/serialization.py): an array is its shape, its type and its bytes, packed once more, and so
// is a single number of numpy.
const (
	flaxArray  = 1
	flaxScalar = 3
)

// errMsgpack says that something is not MessagePack.
var errMsgpack = errors.New("not MessagePack")

// IsMsgpack reports whether a file begins as a map of MessagePack does whose first key is a text: what flax writes.
func IsMsgpack(head []byte) bool {
	if len(head) < 3 {
		return false
	}
	if isPairs(head) {
		return true
	}
	rest := head[1:]
	switch c := head[0]; {
	case 0x81 <= c && c <= 0x8f:
	case c == 0xde:
		rest = head[3:]
	case c == 0xdf && len(head) > 5:
		rest = head[5:]
	default:
		return false
	}
	if len(rest) < 2 {
		return false
	}
	switch c := rest[0]; {
	case 0xa1 <= c && c <= 0xbf:
		rest = rest[1:]
	case c == 0xd9 && len(rest) > 2:
		rest = rest[2:]
	default:
		return false
	}
	return ' ' < rest[0] && rest[0] < 0x7f
}

// MsgpackShape follows a file of MessagePack (github.com/msgpack/msgpack/blob/master/spec.md) to its end, without the
// bytes of its arrays, and returns what it holds; nothing and ErrNoShape when that is more than is kept.
func MsgpackShape(r io.ReaderAt, size int64) (*Shape, error) {
	if size == 0 {
		return nil, problem.New(problem.EmptyFile, "it is empty")
	}
	m := &msgpack{w: newWindow(r, 0, size), shapes: &shaper{left: maxShapes}}
	read := m.value
	if head := make([]byte, min(size, 4)); readAt(r, head, 0) == nil && isPairs(head) {
		read = m.pairs
	}
	shape, err := read(0)
	switch {
	case m.w.err == errShort:
		return nil, problem.New(problem.Truncated, "its MessagePack is longer than the file")
	case m.w.err != nil:
		return nil, m.w.err
	case errors.Is(err, errMsgpack):
		return nil, problem.New(problem.BadIndex, "it is no whole MessagePack: byte %d is %#02x", m.w.offset()-1, m.last)
	case err != nil:
		return nil, err
	case m.w.left() > 0:
		return nil, problem.New(problem.SizeMismatch, "%d bytes follow its MessagePack", m.w.left())
	case m.full:
		return nil, ErrNoShape
	}
	return shape, nil
}

type msgpack struct {
	w      *window
	shapes *shaper
	full   bool // there was more than is kept
	last   byte // that began a value
}

func (m *msgpack) new(kind ShapeKind) *Shape {
	s := m.shapes.new(kind)
	m.full = m.full || s == nil
	return s
}

// big reads a big-endian number of at most eight bytes.
func (m *msgpack) big(bytes int) uint64 {
	var b [8]byte
	copy(b[8-bytes:], m.w.take(bytes))
	return binary.BigEndian.Uint64(b[:])
}

func (m *msgpack) value(depth int) (*Shape, error) {
	if depth > maxDepth {
		return nil, errMsgpack
	}
	c := m.w.byte()
	m.last = c
	switch {
	case m.w.err != nil:
		return nil, m.w.err
	case c <= 0x7f:
		return m.number(int64(c)), nil
	case c >= 0xe0:
		return m.number(int64(int8(c))), nil
	case c <= 0x8f:
		return m.dict(uint64(c&0x0f), depth)
	case c <= 0x9f:
		return m.list(uint64(c&0x0f), depth)
	case c <= 0xbf:
		return m.text(uint64(c & 0x1f))
	}
	switch c {
	case 0xc0:
		return m.new(None), nil
	case 0xc2, 0xc3:
		return m.number(int64(c - 0xc2)), nil
	case 0xc4, 0xc5, 0xc6: // bytes
		m.w.skip(m.big(1 << (c - 0xc4)))
		return m.new(Bytes), m.w.err
	case 0xc7, 0xc8, 0xc9:
		return m.extension(m.big(1 << (c - 0xc7)))
	case 0xca, 0xcb: // floats
		m.w.skip(4 << (c - 0xca))
		return m.new(Float), m.w.err
	case 0xcc, 0xcd, 0xce, 0xcf:
		n := m.big(1 << (c - 0xcc))
		if n > 1<<63-1 {
			return m.new(Other), m.w.err
		}
		return m.number(int64(n)), m.w.err
	case 0xd0, 0xd1, 0xd2, 0xd3:
		bytes := 1 << (c - 0xd0)
		shift := 64 - 8*bytes
		return m.number(int64(m.big(bytes)) << shift >> shift), m.w.err
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return m.extension(1 << (c - 0xd4))
	case 0xd9, 0xda, 0xdb:
		return m.text(m.big(1 << (c - 0xd9)))
	case 0xdc, 0xdd:
		return m.list(m.big(2<<(c-0xdc)), depth)
	case 0xde, 0xdf:
		return m.dict(m.big(2<<(c-0xde)), depth)
	}
	return nil, errMsgpack // 0xc1
}

func (m *msgpack) number(n int64) *Shape {
	s := m.new(Number)
	if s != nil {
		s.Number = n
	}
	return s
}

func (m *msgpack) text(length uint64) (*Shape, error) {
	s := m.new(Text)
	if length > maxText {
		m.w.skip(length)
		return s, m.w.err
	}
	if b := m.w.take(int(length)); s != nil {
		s.Text = string(b)
	}
	return s, m.w.err
}

func (m *msgpack) list(items uint64, depth int) (*Shape, error) {
	s := m.new(List)
	for range items {
		v, err := m.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if s != nil && v != nil {
			s.Values = append(s.Values, v)
		}
		if s != nil {
			s.Pairs++
		}
	}
	return s, nil
}

func (m *msgpack) dict(pairs uint64, depth int) (*Shape, error) {
	s := m.new(Dict)
	chunked := false
	for range pairs {
		key, err := m.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v, err := m.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if s == nil || key == nil || v == nil {
			continue
		}
		if s.Pairs++; key.Kind == Text {
			s.Keys, s.Values = append(s.Keys, key.Text), append(s.Values, v)
			chunked = chunked || key.Text == "__msgpack_chunked_array__"
		}
	}
	burn := s != nil && s.Pairs == 3 && s.Get("bytes") != nil && s.Get("shape") != nil && s.Get("dtype") != nil // TensorData of burn's
	if chunked || burn {                                                                                        // an array of more than 1 GiB is in pieces
		return m.new(Tensor), nil
	}
	return s, nil
}

// extension reads an array or a number of flax's, and leaves out what is another's.
func (m *msgpack) extension(length uint64) (*Shape, error) {
	kind := m.w.byte()
	end := uint64(m.w.offset()) + length
	if m.w.err == nil && length > uint64(m.w.left()) {
		m.w.err = errShort
	}
	s := m.new(Other)
	switch {
	case s == nil:
	case kind == flaxArray:
		s.Kind = Tensor
		fallthrough
	case kind == flaxScalar && length < maxScalar:
		if n, ok := m.scalar(length); ok {
			s.Kind, s.Number = Number, n
		}
	}
	if at := uint64(m.w.offset()); m.w.err == nil && at < end {
		m.w.skip(end - at)
	}
	return s, m.w.err
}

// scalar reads an array without dimensions that is one whole number: its shape, which is empty, its type, and its
// bytes.
func (m *msgpack) scalar(length uint64) (int64, bool) {
	if length < 6 || length > maxScalar {
		return 0, false
	}
	b := m.w.take(int(length))
	if len(b) < 6 || b[0] != 0x93 || b[1] != 0x90 || b[2]&0xe0 != 0xa0 {
		return 0, false
	}
	length = uint64(b[2] & 0x1f) // of the type's name
	if length+5 > uint64(len(b)) {
		return 0, false
	}
	name, rest := b[3:3+length], b[3+length:]
	bytes := int(rest[1])
	if rest[0] != 0xc4 || len(rest) != 2+bytes || bytes < 1 || bytes > 8 || !strings.Contains(string(name), "int") {
		return 0, false
	}
	var n uint64
	for i := bytes - 1; i >= 0; i-- {
		n = n<<8 | uint64(rest[2+i])
	}
	if shift := 64 - 8*bytes; name[0] == 'i' {
		return int64(n) << shift >> shift, true
	}
	return int64(n), int64(n) >= 0
}
