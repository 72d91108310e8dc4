package file

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

const (
	maxText  = 1 << 10 // bytes of a text that is looked at; a longer one is skipped
	maxStack = 1 << 16
	maxMarks = 1 << 12
	maxMemo  = 1 << 18 // texts that are remembered
	maxLine  = 1 << 12 // bytes of a line that is looked at, in the text forms of protocol 0
)

// errTooMuch says that a pickle is more than the walk keeps in memory: whether it is whole stays open.
var errTooMuch = errors.New("too much to keep in memory")

// walk goes through the pickle to its STOP. The error is a [problem.Error], errTooMuch or one of reading.
func (p *pickle) walk() error {
	for {
		at := p.w.offset()
		op := p.w.byte()
		if p.w.err != nil {
			return p.failed(at, p.w.err)
		}
		if op == '.' {
			if len(p.marks) > 0 || len(p.stack) != 1 {
				return problem.New(problem.BadPickle, "its pickle stops at byte %d with %d values on the stack, 1 expected", at,
					len(p.stack))
			}
			return nil
		}
		err := p.step(op)
		if p.w.err != nil {
			return p.failed(at, p.w.err)
		}
		if err == errTooMuch || len(p.stack) > maxStack || len(p.marks) > maxMarks {
			return errTooMuch
		}
		if err != nil {
			return problem.New(problem.BadPickle, "its pickle is wrong at byte %d, opcode %#02x: %v", at, op, err)
		}
	}
}

// failed says what an error of reading means for the opcode at an offset.
func (p *pickle) failed(at int64, err error) error {
	if err == errShort {
		return problem.New(problem.BadPickle, "its pickle ends within the opcode at byte %d", at)
	}
	return err
}

// step does what one opcode says. The list is that of Lib/pickletools.py of Python 3.14.
func (p *pickle) step(op byte) error {
	w := p.w
	switch op {
	case 0x80: // PROTO
		if v := w.byte(); v > 5 {
			return fmt.Errorf("protocol %d, at most 5 expected", v)
		}
	case 0x95: // FRAME
		if n := w.number(8); w.err == nil && n > uint64(w.left()) {
			return errShort
		}
	case '(':
		p.marks = append(p.marks, len(p.stack))
	case '0': // POP, of a mark too
		if len(p.marks) > 0 && len(p.stack) == p.floor() {
			p.marks = p.marks[:len(p.marks)-1]
			return nil
		}
		_, err := p.pop()
		return err
	case '1': // POP_MARK
		_, err := p.sinceMark()
		return err
	case '2': // DUP
		v := p.top()
		if v == nil {
			return errUnderflow
		}
		p.push(value{kind: v.kind, n: v.n, text: v.text})

	case 'N', 0x88, 0x89, 0x97, ')', ']', 0x8f: // NONE, NEWTRUE, NEWFALSE, NEXT_BUFFER, empty tuple, list and set
		p.push(value{})
	case '}':
		p.push(value{kind: dict})
	case 'I', 'L':
		p.integer()
	case 'F':
		w.line(maxLine)
		p.push(value{})
	case 'J':
		p.push(value{kind: number, n: int64(int32(w.number(4)))})
	case 'K':
		p.push(value{kind: number, n: int64(w.byte())})
	case 'M':
		p.push(value{kind: number, n: int64(w.number(2))})
	case 0x8a:
		p.long(uint64(w.byte()))
	case 0x8b:
		p.long(w.number(4))
	case 'G':
		w.skip(8)
		p.push(value{})

	case 'S', 'V':
		if line := w.line(maxText); w.err == nil {
			p.push(value{kind: text, text: string(line)})
		}
	case 'T', 'X':
		p.string(w.number(4))
	case 'U', 0x8c:
		p.string(uint64(w.byte()))
	case 0x8d:
		p.string(w.number(8))
	case 'B':
		w.skip(w.number(4))
		p.push(value{})
	case 'C':
		w.skip(uint64(w.byte()))
		p.push(value{})
	case 0x8e, 0x96: // BINBYTES8, BYTEARRAY8
		w.skip(w.number(8))
		p.push(value{})
	case 0x98: // READONLY_BUFFER

	case 'c': // GLOBAL
		module := string(w.line(maxText))
		p.push(value{kind: global, text: module + " " + string(w.line(maxText))})
	case 0x93: // STACK_GLOBAL
		if len(p.stack)-2 < p.floor() {
			return errUnderflow
		}
		module, name := p.stack[len(p.stack)-2], p.stack[len(p.stack)-1]
		return p.replace(2, value{kind: global, text: module.text + " " + name.text})
	case 0x82, 0x83, 0x84: // EXT1, EXT2, EXT4
		w.skip(1 << (op - 0x82))
		p.push(value{})
	case 'P': // PERSID
		w.line(maxLine)
		p.push(value{})
	case 'Q': // BINPERSID
		v, err := p.pop()
		if err != nil {
			return err
		}
		p.push(value{})
		if v.kind == persistent && p.storages != nil {
			p.storages(*v.storage)
		}

	case 'p', 'g':
		n, err := strconv.ParseUint(string(w.line(maxLine)), 10, 32)
		if err != nil {
			return errors.New("the index is not a number")
		}
		if op == 'p' {
			return p.put(n)
		}
		p.get(n)
	case 'q':
		return p.put(uint64(w.byte()))
	case 'r':
		return p.put(w.number(4))
	case 0x94: // MEMOIZE
		return p.put(p.puts)
	case 'h':
		p.get(uint64(w.byte()))
	case 'j':
		p.get(w.number(4))

	case 't', 'l', 'd', 'o', 'i', 0x91: // TUPLE, LIST, DICT, OBJ, INST, FROZENSET
		values, err := p.sinceMark()
		if err != nil {
			return err
		}
		made := value{}
		switch op {
		case 't':
			made = tuple(values)
		case 'd':
			made.kind = dict
			for i := 0; i+1 < len(values); i += 2 {
				made.set(values[i], values[i+1])
			}
		case 'i':
			w.line(maxLine)
			w.line(maxLine)
		}
		p.push(made)
	case 0x85:
		return p.replace(1, value{})
	case 0x86:
		return p.replace(2, value{})
	case 0x87:
		return p.replace(3, value{})
	case 'R', 0x81: // REDUCE, NEWOBJ
		return p.replace(2, value{})
	case 0x92: // NEWOBJ_EX
		return p.replace(3, value{})

	case 'a': // APPEND
		if _, err := p.pop(); err != nil {
			return err
		}
		if p.top() == nil {
			return errUnderflow
		}
	case 'e', 0x90: // APPENDS, ADDITEMS
		if _, err := p.sinceMark(); err != nil {
			return err
		}
		if p.top() == nil {
			return errUnderflow
		}
	case 's': // SETITEM
		if len(p.stack)-3 < p.floor() {
			return errUnderflow
		}
		n := len(p.stack)
		p.stack[n-3].set(p.stack[n-2], p.stack[n-1])
		p.stack = p.stack[:n-2]
	case 'u': // SETITEMS
		return p.pairs()
	case 'b': // BUILD
		state, err := p.pop()
		if err != nil {
			return err
		}
		if p.top() == nil {
			return errUnderflow
		}
		if state.stretch != nil && p.built != nil {
			p.built(*state.stretch)
		}
	default:
		return errors.New("there is no such opcode")
	}
	return nil
}

// IsPickle reports whether a file that begins like this may be a pickle of protocol 2 or later.
func IsPickle(head []byte) bool {
	return len(head) >= 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5
}

// PickleEnds looks at both ends of a file of pickles: each begins with its protocol and ends with STOP.
func PickleEnds(r io.ReaderAt, size int64) error {
	if size == 0 {
		return problem.New(problem.EmptyFile, "it is empty")
	}
	var ends [3]byte
	if err := readAt(r, ends[:min(2, size)], 0); err != nil {
		return err
	}
	if err := readAt(r, ends[2:], size-1); err != nil {
		return err
	}
	switch {
	case !IsPickle(ends[:2]):
		return problem.New(problem.BadPickle, "it begins with % x, 80 and a protocol of 2 to 5 expected", ends[:2])
	case ends[2] != '.':
		return problem.New(problem.BadPickle, "its last byte is %#02x, the STOP of a pickle (0x2e) expected", ends[2])
	}
	return nil
}

// Pickles walks through all pickles of a file, one after the other.
func Pickles(r io.ReaderAt, size int64) error {
	if err := PickleEnds(r, size); err != nil {
		return err
	}
	w := newWindow(r, 0, size)
	for w.left() > 0 {
		p := pickle{w: w, keep: func(string) bool { return false }}
		if err := p.walk(); err != nil {
			if err == errTooMuch {
				return nil
			}
			return err
		}
	}
	return nil
}
