package file

import (
	"errors"
	"strconv"
)

// form is how the argument of an opcode is written (ArgumentDescriptor in Lib/pickletools.py of Python 3.14).
type form uint8

const (
	nothing    form = iota
	fixed1          // little-endian, of so many bytes
	fixed2          //
	fixed4          //
	fixed8          //
	signed4         //
	long1           // two's complement of so many bytes, the number of which comes first
	long4           //
	line            // up to a newline
	lines           // two of them
	decimal         // a line with a number
	index           // a line with a number that is not negative
	text1           // UTF-8, after its length
	text4           //
	text8           //
	bytes1          // after their number
	bytes4          //
	bytes8          //
	eight           // eight bytes that are not read
	frame           // the length of what follows, in eight bytes
	extension1      // a code of so many bytes
	extension2      //
	extension4      //
)

// argument is that of one opcode.
type argument struct {
	n     int64
	known bool // n is the number; a longer one is skipped
	text  string
	kept  bool // text is all of it
}

// opcode is what follows it and what it does to the stack.
type opcode struct {
	argument form
	do       func(p *pickle, a argument) error
}

// opcodes are those of protocols 0 to 5, by the list in Lib/pickletools.py. STOP is the walk's.
var opcodes = [256]opcode{
	0x80: {fixed1, protocol},                                      // PROTO
	0x95: {frame, func(*pickle, argument) error { return nil }},   // FRAME
	0x98: {nothing, func(*pickle, argument) error { return nil }}, // READONLY_BUFFER

	'(':  {nothing, (*pickle).mark},    // MARK
	'0':  {nothing, (*pickle).drop},    // POP
	'1':  {nothing, (*pickle).unmark},  // POP_MARK
	'2':  {nothing, (*pickle).double},  // DUP
	'p':  {index, (*pickle).put},       // PUT
	'q':  {fixed1, (*pickle).put},      // BINPUT
	'r':  {fixed4, (*pickle).put},      // LONG_BINPUT
	0x94: {nothing, (*pickle).memoize}, // MEMOIZE
	'g':  {index, (*pickle).get},       // GET
	'h':  {fixed1, (*pickle).get},      // BINGET
	'j':  {fixed4, (*pickle).get},      // LONG_BINGET

	'N':  {nothing, push(none)},      // NONE
	0x88: {nothing, push(truth)},     // NEWTRUE
	0x89: {nothing, push(falsehood)}, // NEWFALSE
	'I':  {decimal, (*pickle).integer},
	'L':  {decimal, (*pickle).integer},
	'J':  {signed4, (*pickle).integer}, // BININT
	'K':  {fixed1, (*pickle).integer},  // BININT1
	'M':  {fixed2, (*pickle).integer},  // BININT2
	0x8a: {long1, (*pickle).integer},   // LONG1
	0x8b: {long4, (*pickle).integer},   // LONG4
	'F':  {line, push(float)},          // FLOAT
	'G':  {eight, push(float)},         // BINFLOAT

	'S':  {line, (*pickle).string},  // STRING
	'V':  {line, (*pickle).string},  // UNICODE
	'T':  {text4, (*pickle).string}, // BINSTRING
	'U':  {text1, (*pickle).string}, // SHORT_BINSTRING
	'X':  {text4, (*pickle).string}, // BINUNICODE
	0x8c: {text1, (*pickle).string}, // SHORT_BINUNICODE
	0x8d: {text8, (*pickle).string}, // BINUNICODE8
	'B':  {bytes4, (*pickle).bytes}, // BINBYTES
	'C':  {bytes1, (*pickle).bytes}, // SHORT_BINBYTES
	0x8e: {bytes8, (*pickle).bytes}, // BINBYTES8
	0x96: {bytes8, (*pickle).bytes}, // BYTEARRAY8
	0x97: {nothing, push(opaque)},   // NEXT_BUFFER

	')':  {nothing, gather(0)},        // EMPTY_TUPLE
	']':  {nothing, push(list)},       // EMPTY_LIST
	0x8f: {nothing, push(opaque)},     // EMPTY_SET
	'}':  {nothing, push(dict)},       // EMPTY_DICT
	't':  {nothing, (*pickle).tuple},  // TUPLE
	'l':  {nothing, fromMark(list)},   // LIST
	'd':  {nothing, (*pickle).dict},   // DICT
	0x91: {nothing, fromMark(opaque)}, // FROZENSET
	0x85: {nothing, gather(1)},        // TUPLE1
	0x86: {nothing, gather(2)},        // TUPLE2
	0x87: {nothing, gather(3)},        // TUPLE3
	'a':  {nothing, (*pickle).append}, // APPEND
	'e':  {nothing, (*pickle).extend}, // APPENDS
	0x90: {nothing, (*pickle).extend}, // ADDITEMS
	's':  {nothing, (*pickle).pair},   // SETITEM
	'u':  {nothing, (*pickle).pairs},  // SETITEMS

	'c':  {lines, (*pickle).global},        // GLOBAL
	0x93: {nothing, (*pickle).stackGlobal}, // STACK_GLOBAL
	'R':  {nothing, made(2)},               // REDUCE
	0x81: {nothing, newObject},             // NEWOBJ
	0x92: {nothing, made(3)},               // NEWOBJ_EX
	'o':  {nothing, fromMark(instance)},    // OBJ
	'i':  {lines, fromMark(instance)},      // INST
	'b':  {nothing, (*pickle).build},       // BUILD
	'P':  {line, push(opaque)},             // PERSID
	'Q':  {nothing, (*pickle).persistent},  // BINPERSID
	0x82: {extension1, push(opaque)},       // EXT1
	0x83: {extension2, push(opaque)},       // EXT2
	0x84: {extension4, push(opaque)},       // EXT4
}

// read reads the argument of an opcode. What the window fails at is its own to tell.
func (p *pickle) read(f form) (a argument, err error) {
	w := p.w
	switch f {
	case fixed1, fixed2, fixed4, fixed8:
		a.n, a.known = int64(w.number(1<<(f-fixed1))), true
	case signed4:
		a.n, a.known = int64(int32(w.number(4))), true
	case long1:
		a.n, a.known = p.long(uint64(w.byte()))
	case long4:
		a.n, a.known = p.long(w.number(4))
	case line:
		a.text, a.kept = string(w.line(maxText)), true
	case lines:
		first := string(w.line(maxText))
		a.text, a.kept = first+" "+string(w.line(maxText)), true
	case decimal:
		n, err := strconv.ParseInt(string(trimLong(w.line(maxLine))), 10, 64)
		a.n, a.known = n, err == nil
	case index:
		n, err := strconv.ParseUint(string(w.line(maxLine)), 10, 32)
		if err != nil {
			return a, errors.New("the index is not a number")
		}
		a.n, a.known = int64(n), true
	case text1:
		p.take(&a, uint64(w.byte()))
	case text4:
		p.take(&a, w.number(4))
	case text8:
		p.take(&a, w.number(8))
	case bytes1:
		p.few(&a, uint64(w.byte()))
	case bytes4:
		p.few(&a, w.number(4))
	case bytes8:
		p.few(&a, w.number(8))
	case eight:
		w.skip(8)
	case frame:
		if n := w.number(8); w.err == nil && n > uint64(w.left()) {
			return a, errShort
		}
	case extension1, extension2, extension4:
		w.skip(1 << (f - extension1))
	}
	return a, nil
}

// take reads a text of n bytes.
func (p *pickle) take(a *argument, n uint64) {
	if n > maxText {
		p.w.skip(n)
		return
	}
	a.text, a.kept = string(p.w.take(int(n))), true
	if p.w.err == nil && p.fresh != nil {
		p.fresh(a.text)
	}
}

// few reads n bytes if they are few, and skips more.
func (p *pickle) few(a *argument, n uint64) {
	if n > maxRaw {
		p.w.skip(n)
		return
	}
	a.text, a.kept = string(p.w.take(int(n))), true
}

// long reads an integer of n bytes, little-endian and of two's complement.
func (p *pickle) long(n uint64) (int64, bool) {
	if n > 8 {
		p.w.skip(n)
		return 0, false
	}
	u := p.w.number(int(n))
	if shift := 64 - 8*n; n > 0 {
		u = uint64(int64(u<<shift) >> shift)
	}
	return int64(u), true
}

func trimLong(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == 'L' {
		return line[:n-1]
	}
	return line
}
