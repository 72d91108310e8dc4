package format

import (
	"bytes"
	"encoding/binary"
	"io"
)

// saved is the beginning of a file that torch.save wrote, in which the pickle of a training state stands before the
// bytes of its tensors. Numbers and flags are found in it by the string that is their key in a dictionary; nothing is
// unpickled.
type saved []byte

// maxSaved bounds what is read of a pickled state. What a training state holds besides tensors is seldom more than a
// few hundred kilobytes.
const maxSaved = 16 << 20

// recordEnd begins what stands behind the pickle in the zip of torch.save: the data descriptor of its record.
var recordEnd = []byte("PK\x07\x08")

// saved reads the pickle at the beginning of a file of torch.save, of which no more than the head at the level Ends and
// nothing at the level Names.
func (l *look) saved(name string) (saved, error) {
	limit := int64(maxSaved)
	switch l.Level {
	case Names:
		return nil, nil
	case Ends:
		limit = maxSavedHead
	}
	return l.savedHead(name, limit)
}

// maxSavedHead bounds what is read of a state when no more than the ends of files are.
const maxSavedHead = 64 << 10

// savedHead reads so much of a file of torch.save.
func (l *look) savedHead(name string, limit int64) (saved, error) {
	f, err := l.open(name)
	if err != nil {
		return nil, err
	}
	defer f.close()
	limit = min(limit, f.size)
	const chunk = 256 << 10
	var data []byte
	for int64(len(data)) < limit {
		if err := l.ctx.Err(); err != nil {
			return nil, err
		}
		from := len(data)
		data = append(data, make([]byte, min(chunk, limit-int64(from)))...)
		n, err := f.ReadAt(data[from:], int64(from))
		data = data[:from+n]
		if end := bytes.Index(data[max(0, from-len(recordEnd)):], recordEnd); end >= 0 {
			return data[:max(0, from-len(recordEnd))+end], nil
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// after is what follows the first dictionary key of this name, its value.
func (s saved) after(key string) []byte {
	long := binary.LittleEndian.AppendUint32([]byte{'X'}, uint32(len(key))) // BINUNICODE
	for _, opcode := range [][]byte{append(long, key...), append([]byte{0x8c, byte(len(key))}, key...)} {
		i := bytes.Index(s, opcode)
		if i < 0 {
			continue
		}
		return unmemoized(s[i+len(opcode):])
	}
	return nil
}

// unmemoized skips the opcodes that only remember the value before them.
func unmemoized(s []byte) []byte {
	switch {
	case len(s) > 2 && s[0] == 'q': // BINPUT
		return s[2:]
	case len(s) > 5 && s[0] == 'r': // LONG_BINPUT
		return s[5:]
	case len(s) > 1 && s[0] == 0x94: // MEMOIZE
		return s[1:]
	}
	return s
}

// number is the whole non-negative number of this key.
func (s saved) number(key string) (n int64, ok bool) {
	n, _, ok = pickledNumber(s.after(key))
	return n, ok
}

// numbers is the list of whole non-negative numbers of this key.
func (s saved) numbers(key string) (list []int64) {
	rest := s.after(key)
	if len(rest) == 0 || rest[0] != ']' { // EMPTY_LIST
		return nil
	}
	if rest = unmemoized(rest[1:]); len(rest) > 0 && rest[0] == '(' { // MARK, before more than one
		rest = rest[1:]
	}
	for len(list) < 1<<16 {
		n, size, ok := pickledNumber(rest)
		if !ok {
			break
		}
		list, rest = append(list, n), rest[size:]
	}
	return list
}

func pickledNumber(s []byte) (n int64, size int, ok bool) {
	switch {
	case len(s) > 1 && s[0] == 'K': // BININT1
		return int64(s[1]), 2, true
	case len(s) > 2 && s[0] == 'M': // BININT2
		return int64(binary.LittleEndian.Uint16(s[1:])), 3, true
	case len(s) > 4 && s[0] == 'J': // BININT
		n = int64(int32(binary.LittleEndian.Uint32(s[1:])))
		return n, 5, n >= 0
	}
	return 0, 0, false
}

// none reports whether the value of this key is None.
func (s saved) none(key string) bool { return s.begins(key, 'N') }

// set reports whether the value of this key is something, and not None.
func (s saved) set(key string) bool {
	v := s.after(key)
	return len(v) > 0 && v[0] != 'N'
}

// yes reports whether the value of this key is True.
func (s saved) yes(key string) bool { return s.begins(key, 0x88) }

func (s saved) begins(key string, opcode byte) bool {
	v := s.after(key)
	return len(v) > 0 && v[0] == opcode
}
