package file

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// BoosterForm is the form in which a library of gradient boosting saves a model. Training resumes from such a file: the trees that were
// grown are all of its state.
type BoosterForm uint8

// The forms.
const (
	NoBooster    BoosterForm = iota
	BoosterJSON              // XGBoost's, a dict with the key "learner"
	BoosterUBJ               // the same in Universal Binary JSON
	BoosterText              // LightGBM's
	BoosterBytes             // CatBoost's
)

// boosterHead is how much of a file tells that it is one.
const boosterHead = 64

// Booster reports of which form a file is, by its beginning.
func Booster(head []byte) BoosterForm {
	head = head[:min(len(head), boosterHead)]
	packed := bytes.Join(bytes.Fields(head), nil)
	switch {
	case bytes.HasPrefix(packed, []byte(`{"learner":{`)), bytes.HasPrefix(packed, []byte(`{"version":[`)) && bytes.Contains(packed, []byte(`"learner"`)):
		return BoosterJSON
	case bytes.HasPrefix(head, []byte("{L\x00\x00\x00\x00\x00\x00\x00\x07learner{")):
		return BoosterUBJ
	case bytes.HasPrefix(head, []byte("tree\nversion=v")):
		return BoosterText
	case bytes.HasPrefix(head, []byte("CBM1")):
		return BoosterBytes
	}
	return NoBooster
}

// maxBoosterTail bounds what is read from the end of a text: behind the trees stand how much each feature counts and how the model was
// made.
const maxBoosterTail = 1 << 20

// BoosterEnds looks at both ends of such a file.
func BoosterEnds(r io.ReaderAt, size int64) (BoosterForm, error) {
	head := make([]byte, min(size, boosterHead))
	if err := readAt(r, head, 0); err != nil {
		return NoBooster, err
	}
	form := Booster(head)
	tail := make([]byte, min(size, boosterHead))
	if form == BoosterText {
		tail = make([]byte, min(size, maxBoosterTail))
	}
	if err := readAt(r, tail, size-int64(len(tail))); err != nil {
		return form, err
	}
	switch form {
	case NoBooster:
		return form, problem.New(problem.BadIndex, "it begins with % x, which no booster does", head[:min(8, len(head))])
	case BoosterJSON, BoosterUBJ:
		if !bytes.HasSuffix(bytes.TrimSpace(tail), []byte("}")) {
			return form, problem.New(problem.Truncated, "it does not end with the brace with which it begins")
		}
	case BoosterText:
		if !bytes.Contains(tail, []byte("end of trees")) {
			return form, problem.New(problem.Truncated, "its trees have no end")
		}
	case BoosterBytes:
		if core := int64(binary.LittleEndian.Uint32(append(head, 0, 0, 0, 0)[4:])); size < 8+core {
			return form, problem.New(problem.Truncated, "it has %d bytes, and says %d", size, 8+core)
		}
	}
	return form, nil
}

// BoosterWhole goes through one to its end.
func BoosterWhole(r io.ReaderAt, size int64) error {
	form, err := BoosterEnds(r, size)
	if err != nil {
		return err
	}
	w := newWindow(r, 0, size)
	switch form {
	case BoosterJSON:
		s := scanner{w: w}
		if err = s.skip(); err == nil {
			err = s.end()
		}
	case BoosterUBJ:
		err = (&ubj{w: w}).value(w.byte(), 0)
	}
	if w.err != nil && w.err != errShort {
		return w.err
	}
	if err != nil || w.err != nil {
		return problem.New(problem.Truncated, "it cannot be read to its end: %v at byte %d", cmp.Or(err, w.err), w.offset())
	}
	return nil
}

// ubj goes through Universal Binary JSON, and keeps nothing of it (https://ubjson.org/type-reference).
type ubj struct{ w *window }

// ubjSizes are the bytes of the values that have a fixed number of them.
var ubjSizes = map[byte]uint64{'Z': 0, 'N': 0, 'T': 0, 'F': 0, 'i': 1, 'U': 1, 'C': 1, 'I': 2, 'l': 4, 'd': 4, 'L': 8, 'D': 8}

// value leaves out the value behind its marker.
func (u *ubj) value(marker byte, depth int) error {
	if size, fixed := ubjSizes[marker]; fixed {
		u.w.skip(size)
		return nil
	}
	switch marker {
	case 'S', 'H':
		return u.text()
	case '[', '{':
		return u.container(marker, depth)
	}
	return fmt.Errorf("there is no marker %q", marker)
}

// length is the number behind the marker of its size, big-endian.
func (u *ubj) length() (uint64, error) {
	marker := u.w.byte()
	size, fixed := ubjSizes[marker]
	if !fixed || size == 0 || marker == 'd' || marker == 'D' {
		return 0, fmt.Errorf("%q is no length", marker)
	}
	n := uint64(0)
	for _, b := range u.w.take(int(size)) {
		n = n<<8 | uint64(b)
	}
	return n, nil
}

func (u *ubj) text() error {
	n, err := u.length()
	u.w.skip(n)
	return err
}

// container leaves out a list or a dict, which may say of which type its values are and how many.
func (u *ubj) container(open byte, depth int) (err error) {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	of, count, counted := byte(0), uint64(0), false
	if u.w.peek() == '$' {
		u.w.byte()
		of = u.w.byte()
	}
	if u.w.peek() == '#' {
		u.w.byte()
		if count, err = u.length(); err != nil {
			return err
		}
		counted = true
	}
	if size, fixed := ubjSizes[of]; of != 0 && fixed && counted && open == '[' {
		if size > 0 && count > uint64(u.w.left())/size {
			return errShort
		}
		u.w.skip(size * count)
		return nil
	}
	end := byte(']')
	if open == '{' {
		end = '}'
	}
	for n := uint64(0); u.w.err == nil && (!counted || n < count); n++ {
		if !counted && u.w.peek() == end {
			u.w.byte()
			return nil
		}
		if open == '{' {
			if err := u.text(); err != nil {
				return err
			}
		}
		marker := of
		if of == 0 {
			marker = u.w.byte()
		}
		if u.w.err != nil {
			return errShort
		}
		if err := u.value(marker, depth+1); err != nil {
			return err
		}
	}
	return nil
}
