package file

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// ShapeKind is what a value in a pickle is.
type ShapeKind uint8

// The kinds of values.
const (
	Other  ShapeKind = iota // what is not known
	None                    // None
	Number                  // a whole number, or a boolean
	Text
	Tensor // a tensor or an array
	Dict
	List   // a list or a tuple
	Object // of a class of somebody's own
	Float
	Bytes
)

// Shape is what a pickle would build, as far as it is read: keys, whole numbers and texts, and which values are
// tensors. Nothing is built.
type Shape struct {
	Kind   ShapeKind
	Class  string // of an object: "module name"
	Number int64
	Text   string
	// Keys are those of a dict and the names of an object's attributes that are texts, each with its value in Values. A
	// list has values and no keys.
	Keys   []string
	Values []*Shape
	// Pairs counts all, those with other keys too.
	Pairs int
	// Args are what an object was made from: the fields of a named tuple.
	Args  []*Shape
	limit *shaper

	raw     string                      // of bytes, when there are few
	storage *storage                    // that a tensor is made of
	element func() (int64, bool, error) // the only one of an array or a tensor, if it is a whole number
}

// maxShapes bounds how many values are kept of one pickle, and so the memory.
const maxShapes = 1 << 18

// maxKept is how many items of a list are kept, where nobody asks for more.
const maxKept = 64

type shaper struct {
	left  int
	items int // that are kept of a list; 0: maxKept
	// stored, when set, reads one element of a storage.
	stored func(s storage, index int64) (int64, bool, error)
}

func (l *shaper) new(kind ShapeKind) *Shape {
	if l.left == 0 {
		return nil
	}
	l.left--
	return &Shape{Kind: kind, limit: l}
}

// Get is the value of a key, nil when there is none.
func (s *Shape) Get(key string) *Shape {
	if s == nil {
		return nil
	}
	for i, k := range s.Keys {
		if k == key && i < len(s.Values) {
			return s.Values[i]
		}
	}
	return nil
}

// shaped gives a value on the stack a shape when one is asked for.
func (p *pickle) shaped(v value) value {
	if p.shapes == nil {
		return v
	}
	switch v.kind {
	case dict:
		v.shape = p.shapes.new(Dict)
	case list:
		v.shape = p.shapes.new(List)
	case instance:
		if v.shape = p.shapes.new(Object); v.shape != nil {
			v.shape.Class = v.text
		}
	}
	return v
}

// returned is what a callable makes of its arguments: a tensor, a dict of a class of its own, or an object.
func (p *pickle) returned(call []value) value {
	if p.shapes == nil || len(call) == 0 || call[0].kind != global {
		return value{}
	}
	class := call[0].text
	module, name, _ := strings.Cut(class, " ")
	if v, ok := p.numeric(module, name, call); ok {
		return v
	}
	switch {
	case module == "pathlib" || module == "pathlib._local" || module == "datetime":
		return value{shape: p.shapes.new(Text)}
	case strings.HasPrefix(name, "_rebuild_") && strings.HasPrefix(module, "torch"),
		strings.HasPrefix(name, "_reconstruct"), name == "ndarray":
		return value{shape: p.shapes.new(Tensor)}
	case name == "OrderedDict" || name == "defaultdict" || name == "Counter" || name == "EasyDict" || name == "dict":
		v := value{shape: p.shapes.new(Dict)}
		if len(call) > 1 && call[1].shape != nil && len(call[1].shape.Values) > 0 {
			v.shape.adoptPairs(call[1].shape.Values[0]) // protocol 0 and 1: a list of pairs
		}
		return v
	}
	if len(call) > 1 && call[1].shape != nil && len(call[1].shape.Values) == 1 && call[1].shape.Pairs == 1 {
		if only := call[1].shape.Values[0]; only != nil && only.Kind == Dict && len(only.Keys) > 0 {
			return value{shape: only} // a dict of another class: flax's FrozenDict
		}
	}
	return p.shaped(value{kind: instance, text: class})
}

// newObject is the opcode of what is made from its fields, as a named tuple is. What a function is called with may be
// anything: the blocks of a table of pandas, the pattern of a compiled expression.
func newObject(p *pickle, _ argument) error {
	if len(p.stack)-2 < p.floor() {
		return errUnderflow
	}
	call := p.stack[len(p.stack)-2:]
	v := p.returned(call)
	if fields := call[1].shape; v.shape != nil && v.shape.Kind == Object && fields != nil {
		v.shape.Args = fields.Values
	}
	return p.replace(2, v)
}

// adoptPairs takes the pairs that a list of lists holds.
func (s *Shape) adoptPairs(pairs *Shape) {
	if s == nil || pairs == nil {
		return
	}
	for _, pair := range pairs.Values {
		if pair != nil && len(pair.Values) == 2 && pair.Values[0] != nil && pair.Values[0].Kind == Text {
			s.Keys, s.Values = append(s.Keys, pair.Values[0].Text), append(s.Values, pair.Values[1])
		}
		s.Pairs++
	}
}

// adopt takes items into a list.
func (v *value) adopt(items []value) {
	s := v.shape
	if s == nil || s.Kind != List {
		return
	}
	for _, item := range items {
		if s.Pairs++; len(s.Values) < cmp.Or(s.limit.items, maxKept) {
			s.Values = append(s.Values, s.limit.of(item))
		}
	}
}

// take gives an object the attributes that a dict holds, and an array what it consists of.
func (v *value) take(state value) {
	if v.shape == nil || state.shape == nil {
		return
	}
	from := state.shape
	switch {
	case v.shape.Kind == Tensor:
		v.shape.array(from)
		return
	case v.shape.Class == numpyType && len(from.Values) > 1 && from.Values[1] != nil && from.Values[1].Text == ">":
		v.shape.Text = "" // its bytes stand the other way round
		return
	}
	if from.Kind == List && len(from.Values) == 2 && from.Values[1] != nil { // (None, slots)
		from = from.Values[1]
	}
	if from.Kind == Dict {
		v.shape.Keys, v.shape.Values = append(v.shape.Keys, from.Keys...), append(v.shape.Values, from.Values...)
		v.shape.Pairs += from.Pairs
	}
}

func (s *Shape) set(key, to value) {
	if s.Kind != Dict && s.Kind != Object {
		return
	}
	s.Pairs++
	if key.kind == text {
		s.Keys, s.Values = append(s.Keys, key.text), append(s.Values, s.limit.of(to))
	}
}

// of is the shape of a value.
func (l *shaper) of(v value) *Shape {
	if v.shape != nil {
		return v.shape
	}
	s := l.new(Other)
	if s == nil {
		return nil
	}
	switch v.kind {
	case none:
		s.Kind = None
	case number:
		s.Kind, s.Number = Number, v.n
	case truth:
		s.Kind, s.Number = Number, 1
	case falsehood:
		s.Kind = Number
	case text:
		s.Kind, s.Text = Text, v.text
	case global:
		s.Class = v.text
	case float:
		s.Kind = Float
	case raw:
		s.Kind, s.raw = Bytes, v.text
	}
	return s
}

// ErrNoShape says that a file is whole as far as is known, and that what it holds cannot be told.
var ErrNoShape = errors.New("what it holds cannot be told")

// TorchShape is the shape of what torch.save or pickle wrote into a file. The error is ErrNoShape, a [problem.Error], or one
// of reading.
func TorchShape(r io.ReaderAt, size int64) (*Shape, error) {
	head := make([]byte, min(size, 32))
	if err := readAt(r, head, 0); err != nil {
		return nil, err
	}
	form, known := IsTorch(head)
	if !known {
		return nil, ErrNoShape
	}
	shapes := &shaper{left: maxShapes}
	w, skip := newWindow(r, 0, size), 0
	switch form {
	case TorchLegacy:
		skip = 3 // the magic number, the protocol and the machine come first
		shapes.stored = (&legacyStorages{r: r, size: size}).element
	case TorchZip:
		z, err := OpenZip(r, size)
		if err != nil {
			return nil, err
		}
		stem, e, err := program(z, func(string) {})
		if err != nil {
			return nil, err
		}
		if stem == "" || e.Method != 0 {
			return nil, ErrNoShape
		}
		from, end, err := z.data(e)
		if err != nil {
			return nil, err
		}
		w = newWindow(r, from, end)
		shapes.stored = (&storages{z: z, stem: stem}).element
	}
	for range skip {
		if err := (&pickle{w: w}).walk(); err != nil {
			return nil, shapeless(err)
		}
	}
	p := pickle{w: w, shapes: shapes}
	if err := p.walk(); err != nil {
		return nil, shapeless(err)
	}
	s := p.shapes.of(p.stack[0])
	if p.shapes.left == 0 || s == nil {
		return nil, ErrNoShape
	}
	return s, nil
}

// PickleShape is the shape of one pickle, with so many items of each list at most. What is beyond the bound on all values
// is missing in it.
func PickleShape(r io.ReaderAt, size int64, items int) (*Shape, error) {
	p := pickle{w: newWindow(r, 0, size), shapes: &shaper{left: maxShapes, items: items}}
	if err := p.walk(); err != nil {
		return nil, err
	}
	s := p.shapes.of(p.stack[0])
	if s == nil {
		return nil, ErrNoShape
	}
	return s, nil
}

// shapeless says what an error of the walk means for who asks for a shape.
func shapeless(err error) error {
	if _, wrong := errors.AsType[*problem.Error](err); wrong || err == errTooMuch {
		return ErrNoShape
	}
	return err
}
