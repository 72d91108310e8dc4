package file

import "errors"

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
	transformed    bool   // what lies there went through a filter: it is compressed, or encrypted
	item           string // of what: its key in the state (MetadataIndex in metadata.py), when it is one that is kept
}

type valueKind uint8

const (
	opaque valueKind = iota
	none
	truth
	falsehood
	number
	text
	global
	persistent // a tuple that names a storage
	raw        // bytes, known when they are few
	float
	list
	dict
	instance
)

// value is what the walk knows of one object on the stack.
type value struct {
	kind    valueKind
	n       int64
	text    string
	storage *storage
	stretch *stretch // of a dict, when it has the keys of one
	shape   *Shape   // of a dict, a list or an object, when somebody asks for it
}

// remembered is what the memo keeps of a value.
type remembered struct {
	kind  valueKind
	n     int64
	text  string
	shape *Shape
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

func (p *pickle) string(a argument) error {
	if a.kept {
		p.push(value{kind: text, text: a.text})
	} else {
		p.push(value{})
	}
	return nil
}

func (p *pickle) integer(a argument) error {
	if a.known {
		p.push(value{kind: number, n: a.n})
	} else {
		p.push(value{})
	}
	return nil
}

func (p *pickle) global(a argument) error {
	p.push(value{kind: global, text: a.text})
	return nil
}

func (p *pickle) stackGlobal(argument) error {
	if len(p.stack)-2 < p.floor() {
		return errUnderflow
	}
	module, name := p.stack[len(p.stack)-2], p.stack[len(p.stack)-1]
	return p.replace(2, value{kind: global, text: module.text + " " + name.text})
}

func (p *pickle) persistent(argument) error {
	v, err := p.pop()
	if err != nil {
		return err
	}
	named := value{}
	if v.kind == persistent && p.shapes != nil {
		if named.shape = p.shapes.new(Tensor); named.shape != nil {
			named.shape.storage = v.storage
		}
	}
	p.push(named)
	if v.kind == persistent && p.storages != nil {
		p.storages(*v.storage)
	}
	return nil
}

// tuple makes one of the values above the mark, and knows the identifier of a storage.
func (p *pickle) tuple(argument) error {
	values, err := p.sinceMark()
	if err != nil {
		return err
	}
	if len(values) < 5 || values[0].kind != text || values[0].text != "storage" || values[2].kind != text {
		v := value{}
		if p.shapes != nil {
			v = p.shaped(value{kind: list})
			v.adopt(values)
			v.kind = opaque
		}
		p.push(v)
		return nil
	}
	s := &storage{key: values[2].text, count: -1}
	if values[1].kind == global {
		s.class = values[1].text
	}
	if values[4].kind == number {
		s.count = values[4].n
	}
	p.push(value{kind: persistent, storage: s})
	return nil
}

func (p *pickle) dict(argument) error {
	values, err := p.sinceMark()
	if err != nil {
		return err
	}
	v := p.shaped(value{kind: dict})
	for i := 0; i+1 < len(values); i += 2 {
		p.set(&v, values[i], values[i+1])
	}
	p.push(v)
	return nil
}

func (p *pickle) append(argument) error {
	item, err := p.pop()
	if err != nil {
		return err
	}
	to := p.top()
	if to == nil {
		return errUnderflow
	}
	to.adopt([]value{item})
	return nil
}

func (p *pickle) extend(argument) error {
	items, err := p.sinceMark()
	if err != nil {
		return err
	}
	to := p.top()
	if to == nil {
		return errUnderflow
	}
	to.adopt(items)
	return nil
}

func (p *pickle) pair(argument) error {
	if len(p.stack)-3 < p.floor() {
		return errUnderflow
	}
	n := len(p.stack)
	p.set(&p.stack[n-3], p.stack[n-2], p.stack[n-1])
	p.stack = p.stack[:n-2]
	return nil
}

func (p *pickle) pairs(argument) error {
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
		p.set(v, values[i], values[i+1])
	}
	return nil
}

// build gives an object its attributes.
func (p *pickle) build(argument) error {
	state, err := p.pop()
	if err != nil {
		return err
	}
	to := p.top()
	if to == nil {
		return errUnderflow
	}
	if state.stretch != nil && p.built != nil {
		p.built(*state.stretch)
		to.stretch = state.stretch
	}
	to.take(state)
	return nil
}

// set puts a pair into a dict, and tells of an item that has its place there.
func (p *pickle) set(v *value, key, to value) {
	v.set(key, to)
	if p.placed != nil && key.stretch != nil && key.stretch.item != "" && to.stretch != nil && to.stretch.path != "" {
		s := *to.stretch
		s.item = key.stretch.item
		p.placed(s)
	}
}

// set puts a pair into a dict.
func (v *value) set(key, to value) {
	if v.shape != nil {
		v.shape.set(key, to)
	}
	if v.kind != dict || key.kind != text {
		return
	}
	switch key.text {
	case "relative_path", "offset", "length", "transform_descriptors":
	case "fqn":
		if to.kind != text {
			return // it is not kept
		}
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
	case key.text == "transform_descriptors":
		v.stretch.transformed = to.kind != none
	case key.text == "fqn":
		v.stretch.item = to.text
	}
}
