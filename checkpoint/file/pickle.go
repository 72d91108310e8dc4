package file

import (
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

// stop is the opcode that ends a pickle.
const stop = '.'

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

// protocol refuses a pickle of a protocol that is not known.
func protocol(_ *pickle, a argument) error {
	if a.n > 5 {
		return fmt.Errorf("protocol %d, at most 5 expected", a.n)
	}
	return nil
}
