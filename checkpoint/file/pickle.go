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

// storage is the persistent identifier of a storage, as torch.save writes it (persistent_id in torch/serialization.py).
type storage struct {
	class string // "torch FloatStorage"
	key   string
	count int64 // of elements
}

// stretch is the place of one item of a checkpoint in one of its files (_StorageInfo in
// torch/distributed/checkpoint/filesystem.py).
type stretch struct {
	path           string
	offset, length int64
}

type valueKind uint8

const (
	opaque valueKind = iota
	number
	text
	global
	persistent // a tuple that names a storage
	dict
)

// value is what the walk knows of one object on the stack.
type value struct {
	kind    valueKind
	n       int64
	text    string
	storage *storage
	stretch *stretch // of a dict, when it has the keys of one
}

type remembered struct {
	kind valueKind
	text string
}

// pickle walks through one pickle of Python, protocols 0 to 5, and executes nothing: of what it would build it knows
// only the texts, the numbers and where those stand together that somebody asks for.
type pickle struct {
	w     *window
	stack []value
	marks []int // heights of the stack
	memo  map[uint64]remembered
	puts  uint64

	keep     func(text string) bool // whether to remember a text; nil: every one
	fresh    func(text string)      // called for each text that is spelled out
	storages func(storage)          // called for each persistent identifier of a storage
	built    func(stretch)          // called for each object that has the attributes of a stretch
}

func (p *pickle) push(v value) { p.stack = append(p.stack, v) }

// floor is the height under which nothing may be taken now.
func (p *pickle) floor() int {
	if len(p.marks) == 0 {
		return 0
	}
	return p.marks[len(p.marks)-1]
}

var errUnderflow = errors.New("takes more from the stack than there is")

func (p *pickle) pop() (value, error) {
	if len(p.stack) <= p.floor() {
		return value{}, errUnderflow
	}
	v := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	return v, nil
}

// replace takes n values and puts one in their place.
func (p *pickle) replace(n int, v value) error {
	if len(p.stack)-n < p.floor() {
		return errUnderflow
	}
	p.stack = append(p.stack[:len(p.stack)-n], v)
	return nil
}

// sinceMark takes the values above the last mark. They are valid until the next push.
func (p *pickle) sinceMark() ([]value, error) {
	if len(p.marks) == 0 {
		return nil, errors.New("there is no mark on the stack")
	}
	at := p.marks[len(p.marks)-1]
	p.marks = p.marks[:len(p.marks)-1]
	values := p.stack[at:]
	p.stack = p.stack[:at]
	return values, nil
}

// top is the uppermost value, nil when there is none.
func (p *pickle) top() *value {
	if len(p.stack) <= p.floor() {
		return nil
	}
	return &p.stack[len(p.stack)-1]
}

func (p *pickle) put(index uint64) error {
	v := p.top()
	if v == nil {
		return errUnderflow
	}
	p.puts++
	switch {
	case v.kind == text && (p.keep == nil || p.keep(v.text)), v.kind == global:
	default:
		return nil
	}
	if len(p.memo) >= maxMemo {
		return errTooMuch
	}
	if p.memo == nil {
		p.memo = make(map[uint64]remembered)
	}
	p.memo[index] = remembered{v.kind, v.text}
	return nil
}

func (p *pickle) get(index uint64) {
	m := p.memo[index] // what is not remembered is opaque
	p.push(value{kind: m.kind, text: m.text})
}

// string pushes a text of n bytes.
func (p *pickle) string(n uint64) {
	if n > maxText {
		p.w.skip(n)
		p.push(value{})
		return
	}
	s := string(p.w.take(int(n)))
	if p.w.err != nil {
		return
	}
	if p.fresh != nil {
		p.fresh(s)
	}
	p.push(value{kind: text, text: s})
}

// long pushes an integer of n bytes, little-endian and of two's complement.
func (p *pickle) long(n uint64) {
	if n > 8 {
		p.w.skip(n)
		p.push(value{})
		return
	}
	u := p.w.number(int(n))
	if shift := 64 - 8*n; n > 0 {
		u = uint64(int64(u<<shift) >> shift)
	}
	p.push(value{kind: number, n: int64(u)})
}

// integer pushes what a line of protocol 0 says.
func (p *pickle) integer() {
	line := p.w.line(maxLine)
	if n, err := strconv.ParseInt(string(trimLong(line)), 10, 64); err == nil {
		p.push(value{kind: number, n: n})
		return
	}
	p.push(value{})
}

func trimLong(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == 'L' {
		return line[:n-1]
	}
	return line
}

// tuple makes one of the values.
func tuple(values []value) value {
	if len(values) < 5 || values[0].kind != text || values[0].text != "storage" || values[2].kind != text {
		return value{}
	}
	s := &storage{key: values[2].text, count: -1}
	if values[1].kind == global {
		s.class = values[1].text
	}
	if values[4].kind == number {
		s.count = values[4].n
	}
	return value{kind: persistent, storage: s}
}

// set puts a pair into a dict.
func (v *value) set(key, to value) {
	if v.kind != dict || key.kind != text {
		return
	}
	switch key.text {
	case "relative_path", "offset", "length":
	default:
		return
	}
	if v.stretch == nil {
		v.stretch = &stretch{offset: -1, length: -1}
	}
	switch {
	case key.text == "relative_path" && to.kind == text:
		v.stretch.path = to.text
	case key.text == "offset" && to.kind == number:
		v.stretch.offset = to.n
	case key.text == "length" && to.kind == number:
		v.stretch.length = to.n
	}
}

func (p *pickle) pairs() error {
	values, err := p.sinceMark()
	if err != nil {
		return err
	}
	v := p.top()
	if v == nil {
		return errUnderflow
	}
	if len(values)%2 != 0 {
		return errors.New("has a key without a value")
	}
	for i := 0; i < len(values); i += 2 {
		v.set(values[i], values[i+1])
	}
	return nil
}

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
