package file

import (
	"errors"
	"strconv"
)

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
