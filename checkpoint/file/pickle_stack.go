package file

import (
	"errors"
)

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
	placed   func(stretch)          // called for each stretch under the key of an item
	shapes   *shaper                // when the shape of the whole is asked for
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

// push makes an opcode that puts a value of a kind on the stack.
func push(kind valueKind) func(*pickle, argument) error {
	return func(p *pickle, _ argument) error {
		p.push(p.shaped(value{kind: kind}))
		return nil
	}
}

// fromMark makes an opcode that puts one value in the place of those above the mark.
func fromMark(kind valueKind) func(*pickle, argument) error {
	return func(p *pickle, a argument) error {
		values, err := p.sinceMark()
		if err != nil {
			return err
		}
		v := p.shaped(value{kind: kind, text: a.text})
		v.adopt(values)
		p.push(v)
		return nil
	}
}

// gather makes an opcode that puts a tuple in the place of n values.
func gather(n int) func(*pickle, argument) error {
	return func(p *pickle, _ argument) error {
		if len(p.stack)-n < p.floor() {
			return errUnderflow
		}
		v := value{}
		if p.shapes != nil {
			v = p.shaped(value{kind: list})
			v.adopt(p.stack[len(p.stack)-n:])
			v.kind = opaque
		}
		return p.replace(n, v)
	}
}

// made makes an opcode that puts what a callable returns in the place of it and of its n-1 arguments.
func made(n int) func(*pickle, argument) error {
	return func(p *pickle, _ argument) error {
		if len(p.stack)-n < p.floor() {
			return errUnderflow
		}
		return p.replace(n, p.returned(p.stack[len(p.stack)-n:]))
	}
}

func (p *pickle) mark(argument) error {
	p.marks = append(p.marks, len(p.stack))
	return nil
}

// drop takes the uppermost value, or a mark.
func (p *pickle) drop(argument) error {
	if len(p.marks) > 0 && len(p.stack) == p.floor() {
		p.marks = p.marks[:len(p.marks)-1]
		return nil
	}
	_, err := p.pop()
	return err
}

func (p *pickle) unmark(argument) error {
	_, err := p.sinceMark()
	return err
}

func (p *pickle) double(argument) error {
	v := p.top()
	if v == nil {
		return errUnderflow
	}
	p.push(value{kind: v.kind, n: v.n, text: v.text, shape: v.shape})
	return nil
}

func (p *pickle) memoize(argument) error { return p.put(argument{n: int64(p.puts)}) }

func (p *pickle) put(a argument) error {
	v := p.top()
	if v == nil {
		return errUnderflow
	}
	p.puts++
	switch {
	case v.kind == text && (p.keep == nil || p.keep(v.text)), v.kind == global, v.shape != nil:
	case v.kind == number && p.shapes != nil:
	default:
		return nil
	}
	if len(p.memo) >= maxMemo {
		return errTooMuch
	}
	if p.memo == nil {
		p.memo = make(map[uint64]remembered)
	}
	p.memo[uint64(a.n)] = remembered{v.kind, v.n, v.text, v.shape}
	return nil
}

func (p *pickle) get(a argument) error {
	m := p.memo[uint64(a.n)] // what is not remembered is opaque
	p.push(value{kind: m.kind, n: m.n, text: m.text, shape: m.shape})
	return nil
}
