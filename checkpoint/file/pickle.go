package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

const (
	maxText  = 1 << 10 // bytes of a text that is read; a longer one is skipped
	maxStack = 1 << 16
	maxMarks = 1 << 12
	maxMemo  = 1 << 18 // values that are remembered
	maxLine  = 1 << 12 // bytes of a line that is read, in the text forms of protocol 0
)

// errTooMuch says that a pickle is more than the walk keeps in memory: whether it is whole stays open.
var errTooMuch = errors.New("too much to keep in memory")

// stop is the opcode that ends a pickle, and build the one that gives an object its attributes.
const (
	stop  = '.'
	build = 'b'
)

// walk goes through the pickle to its STOP. The error is a [problem.Error], errTooMuch or one of reading.
func (p *pickle) walk() error {
	for {
		at := p.w.offset()
		op := p.w.byte()
		if p.w.err != nil {
			return p.failed(at, p.w.err)
		}
		if op == stop {
			if len(p.marks) > 0 || len(p.stack) != 1 {
				return problem.New(problem.BadPickle, "its pickle stops at byte %d with %d values on the stack, 1 expected", at,
					len(p.stack))
			}
			return nil
		}
		err := p.step(op)
		if op == build && err == nil && p.w.err == nil {
			err = p.inline()
		}
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

// step does what one opcode says.
func (p *pickle) step(op byte) error {
	code := &opcodes[op]
	if code.do == nil {
		return errors.New("there is no such opcode")
	}
	a, err := p.read(code.argument)
	if err != nil || p.w.err != nil {
		return err
	}
	return code.do(p, a)
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
	case ends[2] != stop:
		return problem.New(problem.BadPickle, "its last byte is %#02x, the STOP of a pickle (0x2e) expected", ends[2])
	}
	return nil
}

// maxTrailer bounds what a program of its own may have put behind a pickle: a sum of it, and a mark. Python's loader does not
// look at that.
const maxTrailer = 256

// Pickles walks through all pickles of a file, one after the other.
func Pickles(r io.ReaderAt, size int64) error {
	ends := PickleEnds(r, size)
	w := newWindow(r, 0, size)
	for w.left() > 0 {
		if at := w.offset(); at > 0 && w.left() <= maxTrailer && ends != nil {
			rest := make([]byte, w.left())
			if err := readAt(r, rest, at); err != nil || !IsPickle(rest) && len(bytes.Trim(rest, "\x00")) > 0 {
				return err
			}
		}
		p := pickle{w: w, keep: func(string) bool { return false }}
		switch err := p.walk(); {
		case err == nil:
		case problem.Of(err, problem.IOError).Reason.Unknown() && err != errTooMuch:
			return err
		case ends != nil:
			return ends
		case err == errTooMuch:
			return nil
		default:
			return err
		}
	}
	return nil
}

// OfJoblib reports whether a pickle has arrays between its opcodes, as they lie in memory (joblib/numpy_pickle.py).
func OfJoblib(r io.ReaderAt, size int64) (bool, error) {
	head := make([]byte, min(size, 64<<10))
	if err := readAt(r, head, 0); err != nil {
		return false, err
	}
	return bytes.Contains(head, []byte("joblib.numpy_pickle")), nil
}

// protocol refuses a pickle of a protocol that is not known.
func protocol(_ *pickle, a argument) error {
	if a.n > 5 {
		return fmt.Errorf("protocol %d, at most 5 expected", a.n)
	}
	return nil
}
