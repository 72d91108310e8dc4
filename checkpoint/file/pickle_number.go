package file

import "strings"

// maxRaw bounds the bytes that are kept of a pickle, which hold one number.
const maxRaw = 16

// numpyType is the class of the types of numpy's numbers.
const numpyType = "numpy dtype"

// Whole is the whole number that a value is: by itself, as a scalar of numpy's, or as an array or a tensor of one element. A
// tensor's lies beside the pickle, and is read now: the error is one of that.
func (s *Shape) Whole() (n int64, ok bool, err error) {
	switch {
	case s == nil:
		return 0, false, nil
	case s.Kind == Number:
		return s.Number, true, nil
	case s.element != nil:
		return s.element()
	}
	return 0, false, nil
}

// bytes puts some on the stack, known when they are few.
func (p *pickle) bytes(a argument) error {
	if a.kept {
		p.push(value{kind: raw, text: a.text})
	} else {
		p.push(value{kind: raw})
	}
	return nil
}

// argumentsOf are those of a call, with nil for what is not known.
func argumentsOf(call []value, n int) []*Shape {
	arguments := make([]*Shape, n)
	if len(call) > 1 && call[1].shape != nil {
		copy(arguments, call[1].shape.Values)
	}
	return arguments
}

// numeric is what a callable makes that gives a number, or what one consists of: bytes as protocol 2 writes them, a
// type, a scalar, an array, a tensor.
func (p *pickle) numeric(module, name string, call []value) (v value, ok bool) {
	numpy := strings.HasPrefix(module, "numpy")
	switch {
	case module == "_codecs" && name == "encode":
		if text := argumentsOf(call, 1)[0]; text != nil && text.Kind == Text {
			return value{kind: raw, text: latin1(text.Text)}, true
		}
		return value{kind: raw}, true
	case module+" "+name == numpyType:
		v := p.shaped(value{kind: instance, text: numpyType})
		if code := argumentsOf(call, 1)[0]; v.shape != nil && code != nil {
			v.shape.Text = code.Text
		}
		return v, true
	case numpy && name == "scalar":
		a := argumentsOf(call, 2)
		n, whole := wholeNumber(a[0], a[1])
		if !whole {
			return value{}, false
		}
		return value{kind: number, n: n}, true
	case numpy && name == "_frombuffer": // protocol 5
		v := value{shape: p.shapes.new(Tensor)}
		a := argumentsOf(call, 3)
		v.shape.holdsOne(a[2], a[1], a[0])
		return v, true
	case name == "_reconstruct_array" && strings.HasPrefix(module, "jax"): // with what numpy makes of it
		v := value{shape: p.shapes.new(Tensor)}
		v.shape.array(argumentsOf(call, 3)[2])
		return v, true
	case name == "_rebuild_tensor_v2" && strings.HasPrefix(module, "torch"):
		v := value{shape: p.shapes.new(Tensor)}
		a := argumentsOf(call, 3)
		if read := p.shapes.stored; v.shape != nil && read != nil && one(a[2]) && a[0] != nil && a[0].storage != nil && a[1] != nil {
			storage, index := *a[0].storage, a[1].Number
			v.shape.element = func() (int64, bool, error) { return read(storage, index) }
		}
		return v, true
	}
	return value{}, false
}

// array takes the number that is all of an array, from the state that numpy gives it: a version, its shape, its type, its
// order and its bytes.
func (s *Shape) array(state *Shape) {
	if state != nil && state.Kind == List && len(state.Values) == 5 {
		s.holdsOne(state.Values[1], state.Values[2], state.Values[4])
		s.isItsOnly(state.Values[1], state.Values[4])
	}
}

// isItsOnly makes of an array of objects that holds one dict that dict: what numpy.save writes of a dict.
func (s *Shape) isItsOnly(shape, items *Shape) {
	if s == nil || !one(shape) || items == nil || items.Kind != List || len(items.Values) != 1 {
		return
	}
	if only := items.Values[0]; only != nil && only != s && only.Kind == Dict {
		*s = *only
	}
}

func (s *Shape) holdsOne(shape, class, bytes *Shape) {
	if n, ok := wholeNumber(class, bytes); ok && s != nil && one(shape) {
		s.element = func() (int64, bool, error) { return n, true, nil }
	}
}

// one reports whether the shape of an array says that it has one element.
func one(shape *Shape) bool {
	return shape != nil && shape.Kind == List && (shape.Pairs == 0 ||
		shape.Pairs == 1 && shape.Values[0] != nil && shape.Values[0].Kind == Number && shape.Values[0].Number == 1)
}

// wholeNumber reads bytes as a type of numpy says.
func wholeNumber(class, bytes *Shape) (n int64, ok bool) {
	if class == nil || bytes == nil || class.Class != numpyType || len(class.Text) != 2 || class.Text[1] != '0'+byte(len(bytes.raw)) ||
		len(bytes.raw) > 8 || len(bytes.raw) == 0 {
		return 0, false
	}
	for i := len(bytes.raw) - 1; i >= 0; i-- {
		n = n<<8 | int64(bytes.raw[i])
	}
	switch shift := 64 - 8*len(bytes.raw); class.Text[0] {
	case 'i':
		return n << shift >> shift, true
	case 'u':
		return n, n >= 0
	}
	return 0, false
}

// latin1 are the bytes that stand in a text, a character each.
func latin1(text string) string {
	bytes := make([]byte, 0, maxRaw)
	for _, c := range text {
		if c > 0xff || len(bytes) == maxRaw {
			return ""
		}
		bytes = append(bytes, byte(c))
	}
	return string(bytes)
}

// storages finds the files of a zip in which torch.save keeps the elements of tensors. They are listed once.
type storages struct {
	z      *Zip
	stem   string
	listed map[string]Entry
}

// element reads one whole number of a storage.
func (f *storages) element(s storage, index int64) (n int64, ok bool, err error) {
	_, class, _ := strings.Cut(s.class, " ")
	width, whole := wholeSizes[class]
	if !whole || index < 0 || index >= s.count {
		return 0, false, nil
	}
	if f.listed == nil {
		if err := f.list(); err != nil {
			return 0, false, err
		}
	}
	e, there := f.listed[s.key]
	if !there || e.Method != 0 || index >= e.Size/width {
		return 0, false, nil
	}
	from, end, err := f.z.data(e)
	if err != nil {
		return 0, false, err
	}
	w := newWindow(f.z.r, from+index*width, end)
	n, ok = (&pickle{w: w}).long(uint64(width))
	return n, ok, w.err
}

func (f *storages) list() error {
	f.listed = map[string]Entry{}
	return f.z.Each(func(e Entry) error {
		if key, is := strings.CutPrefix(e.Name, f.stem+"/data/"); is && len(f.listed) < maxShapes {
			f.listed[strings.Clone(key)] = e
		}
		return nil
	})
}
