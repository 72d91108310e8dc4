package file

import (
	"errors"
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
