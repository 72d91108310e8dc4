package file

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// CheckpointState is TensorFlow's file "checkpoint", by tensorflow/python/training/checkpoint_state.proto.
type CheckpointState struct {
	// Path is that of the latest checkpoint, All are those that were not deleted, the oldest first: relative to the
	// directory of the file, or absolute.
	Path string
	All  []string
	// Times are when those of All were saved, in seconds since 1970.
	Times []float64
}

// ReadCheckpointState reads the file's text.
func ReadCheckpointState(text []byte) (CheckpointState, error) {
	var s CheckpointState
	p := textProto{rest: text}
	if err := p.message(0, &s); err != nil {
		return CheckpointState{}, problem.New(problem.PointerMalformed, "at byte %d of %d: %v", len(text)-len(p.rest), len(text), err)
	}
	if s.Path == "" {
		return CheckpointState{}, problem.New(problem.PointerMalformed, "there is no model_checkpoint_path")
	}
	return s, nil
}

// textProto reads protobuf's text format, of which only the field names at the top matter here.
type textProto struct{ rest []byte }

// maxTextDepth bounds the messages within each other.
const maxTextDepth = 16

// message reads fields up to the end, or up to a closing bracket when it is within another message.
func (p *textProto) message(depth int, into *CheckpointState) error {
	if depth > maxTextDepth {
		return errors.New("too many messages within each other")
	}
	for {
		p.space()
		switch c := p.peek(); {
		case c == 0 && len(p.rest) == 0:
			if depth > 0 {
				return errors.New("a message has no end")
			}
			return nil
		case c == '}' || c == '>':
			if depth == 0 {
				return errors.New("a bracket too many")
			}
			p.rest = p.rest[1:]
			return nil
		case c == ';' || c == ',':
			p.rest = p.rest[1:]
			continue
		}
		name := p.word()
		if name == "" {
			return errors.New("the name of a field expected")
		}
		if depth > 0 {
			name = ""
		}
		p.space()
		colon := p.peek() == ':'
		if colon {
			p.rest = p.rest[1:]
			p.space()
		}
		if err := p.value(name, colon, depth, into); err != nil {
			return err
		}
	}
}

// value reads what follows a name: a message, a list, a string or a word.
func (p *textProto) value(name string, colon bool, depth int, into *CheckpointState) error {
	switch c := p.peek(); {
	case c == '{' || c == '<':
		p.rest = p.rest[1:]
		return p.message(depth+1, into)
	case !colon:
		return errors.New("a colon expected")
	case c == '[':
		if depth > maxTextDepth {
			return errors.New("too many lists within each other")
		}
		p.rest = p.rest[1:]
		for {
			p.space()
			switch p.peek() {
			case ']':
				p.rest = p.rest[1:]
				return nil
			case ',':
				p.rest = p.rest[1:]
				continue
			}
			if err := p.value(name, true, depth+1, into); err != nil {
				return err
			}
		}
	case c == '"' || c == '\'':
		text, err := p.text()
		if err != nil {
			return err
		}
		switch name {
		case "model_checkpoint_path":
			into.Path = text
		case "all_model_checkpoint_paths":
			into.All = append(into.All, text)
		}
		return nil
	}
	word := p.word()
	if word == "" {
		return errors.New("a value expected")
	}
	if name == "all_model_checkpoint_timestamps" {
		seconds, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return errors.New("a time expected")
		}
		into.Times = append(into.Times, seconds)
	}
	return nil
}

func (p *textProto) peek() byte {
	if len(p.rest) == 0 {
		return 0
	}
	return p.rest[0]
}

// space skips blanks and comments.
func (p *textProto) space() {
	for len(p.rest) > 0 {
		switch p.rest[0] {
		case ' ', '\t', '\r', '\n', '\v', '\f':
			p.rest = p.rest[1:]
		case '#':
			_, p.rest, _ = bytes.Cut(p.rest, []byte{'\n'})
		default:
			return
		}
	}
}

// word reads a name or a number.
func (p *textProto) word() string {
	n := 0
	for n < len(p.rest) {
		c := p.rest[n]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '_' && c != '.' && c != '+' && c != '-' {
			break
		}
		n++
	}
	word := string(p.rest[:n])
	p.rest = p.rest[n:]
	return word
}

// text reads strings in quotes, of which several in a row are one.
func (p *textProto) text() (string, error) {
	var b []byte
	for p.peek() == '"' || p.peek() == '\'' {
		quote := p.rest[0]
		p.rest = p.rest[1:]
		for p.peek() != quote {
			c, err := p.character()
			if err != nil {
				return "", err
			}
			b = append(b, c)
		}
		p.rest = p.rest[1:]
		p.space()
	}
	return string(b), nil
}

// character reads one byte of a string, as it is or in C's notation.
func (p *textProto) character() (byte, error) {
	if len(p.rest) == 0 || p.rest[0] == '\n' {
		return 0, errors.New("a string has no end")
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	if c != '\\' {
		return c, nil
	}
	digits := func(base, max int) (byte, error) {
		n := 0
		for n < len(p.rest) && n < max {
			if _, err := strconv.ParseUint(string(p.rest[n]), base, 8); err != nil {
				break
			}
			n++
		}
		v, err := strconv.ParseUint(string(p.rest[:n]), base, 8)
		p.rest = p.rest[n:]
		return byte(v), err
	}
	switch c = p.peek(); {
	case c >= '0' && c <= '7':
		return digits(8, 3)
	case c == 'x' || c == 'X':
		p.rest = p.rest[1:]
		return digits(16, 2)
	}
	i := bytes.IndexByte([]byte(`abfnrtv\'"?`), c)
	if i < 0 || len(p.rest) == 0 {
		return 0, errors.New("an unknown escape in a string")
	}
	p.rest = p.rest[1:]
	return "\a\b\f\n\r\t\v\\'\"?"[i], nil
}
