package file

import "strings"

// joblib puts the bytes of an array into the file at once behind the object that stands for it, as they lie in memory: an array of
// objects as a pickle of its own, the others after a byte that says how many more fill up to an address that suits the processor
// (NumpyArrayWrapper in joblib/numpy_pickle.py).
const joblibWrapper = "joblib.numpy_pickle NumpyArrayWrapper"

// maxArray bounds the bytes of one array, so that no product of its sides overflows.
const maxArray = 1 << 50

// inline goes over the array behind an object that stands for one, and makes of that object a tensor.
func (p *pickle) inline() error {
	top := p.top()
	if top == nil {
		return nil
	}
	of := top.shape
	if of == nil || of.Kind != Object || !strings.HasSuffix(of.Class, joblibWrapper) {
		return nil
	}
	size, objects, ok := of.arrayBytes()
	switch {
	case !ok:
		return errTooMuch
	case objects:
		inner := pickle{w: p.w, shapes: p.shapes}
		if err := inner.walk(); err != nil {
			return err
		}
	default:
		if align := of.Get("numpy_array_alignment_bytes"); align != nil && align.Kind == Number {
			p.w.skip(uint64(p.w.byte()))
		}
		p.w.skip(size)
	}
	*of = Shape{Kind: Tensor, limit: of.limit}
	return nil
}

// arrayBytes is how long an array is by its sides and its type.
func (s *Shape) arrayBytes() (size uint64, objects, ok bool) {
	sides, class := s.Get("shape"), s.Get("dtype")
	if sides == nil || class == nil || sides.Kind != List || len(sides.Values) != sides.Pairs || class.Class != numpyType || len(class.Text) < 1 {
		return 0, false, false
	}
	if class.Text[0] == 'O' {
		return 0, true, true
	}
	n := int64(0)
	for _, c := range class.Text[1:] {
		if c < '0' || '9' < c || n > 1<<20 {
			return 0, false, false
		}
		n = n*10 + int64(c-'0')
	}
	if class.Text[0] == 'U' {
		n *= 4
	}
	for _, side := range sides.Values {
		if side == nil || side.Kind != Number || side.Number < 0 || side.Number > 0 && n > maxArray/side.Number {
			return 0, false, false
		}
		n *= side.Number
	}
	return uint64(n), false, n > 0 || len(sides.Values) > 0
}
