package file

import (
	"errors"
	"fmt"
	"strconv"
)

// scanner reads JSON as a stream and holds nothing of it, for headers of any size.
type scanner struct {
	w     *window
	depth int
}

const maxDepth = 64

var errJSON = errors.New("not JSON")

func (s *scanner) wrong(want string, got byte) error {
	if s.w.err != nil {
		return s.w.err
	}
	if s.w.left() == 0 {
		return errShort
	}
	return fmt.Errorf("%w: %s expected at byte %d, found %q", errJSON, want, s.w.offset(), got)
}

// next is the next byte that is no white space, which stays the next.
func (s *scanner) next() byte {
	for {
		switch c := s.w.peek(); c {
		case ' ', '\t', '\n', '\r':
			s.w.byte()
		default:
			return c
		}
	}
}

func (s *scanner) expect(c byte) error {
	if got := s.next(); got != c {
		return s.wrong(strconv.QuoteRune(rune(c)), got)
	}
	s.w.byte()
	return nil
}

// string reads a string. Of one that is longer than maxText it returns the beginning, and false.
func (s *scanner) string() (string, bool, error) {
	if err := s.expect('"'); err != nil {
		return "", false, err
	}
	var b []byte
	whole, escaped := true, false
	for {
		c := s.w.byte()
		switch {
		case s.w.err != nil:
			return "", false, s.w.err
		case c < ' ':
			return "", false, s.wrong("a string", c)
		case c == '"':
			if escaped && whole {
				// Rare: names of files and tensors need no escapes.
				text, err := strconv.Unquote(`"` + string(b) + `"`)
				if err != nil {
					return "", false, nil // \/ and surrogates: no name that anybody looks for
				}
				return text, true, nil
			}
			return string(b), whole, nil
		case c == '\\':
			escaped = true
			if len(b) < maxText {
				b = append(b, c)
			}
			c = s.w.byte()
		}
		if len(b) < maxText {
			b = append(b, c)
		} else {
			whole = false
		}
	}
}

// number reads a whole number that is not negative.
func (s *scanner) number() (int64, error) {
	s.next()
	var n int64
	for digits := 0; ; digits++ {
		c := s.w.peek()
		if c < '0' || c > '9' {
			if digits == 0 {
				return 0, s.wrong("a number", c)
			}
			return n, nil
		}
		if n > (1<<63-1-9)/10 {
			return 0, s.wrong("a smaller number", c)
		}
		n = 10*n + int64(c-'0')
		s.w.byte()
	}
}

// list reads an array or, with the key of each, an object.
func (s *scanner) list(open, end byte, item func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	if s.depth++; s.depth > maxDepth {
		return fmt.Errorf("%w: nested deeper than %d", errJSON, maxDepth)
	}
	defer func() { s.depth-- }()
	if s.next() == end {
		s.w.byte()
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch c := s.next(); c {
		case ',':
			s.w.byte()
		case end:
			s.w.byte()
			return nil
		default:
			return s.wrong("a comma or the end", c)
		}
	}
}

// object calls member for each key. A key that is too long comes as whole=false.
func (s *scanner) object(member func(key string, whole bool) error) error {
	return s.list('{', '}', func() error {
		key, whole, err := s.string()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return member(key, whole)
	})
}

func (s *scanner) array(item func() error) error { return s.list('[', ']', item) }

// skip leaves out one value.
func (s *scanner) skip() error {
	switch c := s.next(); c {
	case '{':
		return s.object(func(string, bool) error { return s.skip() })
	case '[':
		return s.array(s.skip)
	case '"':
		_, _, err := s.string()
		return err
	default:
		n := 0
		for ; n < 32; n++ { // true, false, null, NaN or a number
			c := s.w.peek()
			if c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'z') {
				break
			}
			s.w.byte()
		}
		if n == 0 {
			return s.wrong("a value", c)
		}
		return nil
	}
}

// end wants nothing but white space up to the end.
func (s *scanner) end() error {
	if c := s.next(); s.w.left() > 0 {
		return s.wrong("the end", c)
	}
	return s.w.err
}
