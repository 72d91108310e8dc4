package exitcodes

import "bytes"

// matlab follows what MATLAB prints of an error, up to a blank line: "Error using f (line 7)" and the message on lines of their own, then
// "Error in g (line 9)" with the source of each frame. A program that opens it with a brace is MATLAB without a terminal.
type matlab struct {
	message int  // lines of the message so far, and one; 0 outside of it
	source  bool // within a frame
}

// of is what the state makes of the next line: the first line of a message tells what went wrong, the others advise, and source says nothing.
func (m *matlab) of(l *line) (t trait) {
	text := bytes.TrimLeft(l.text, "{\b")
	switch {
	case l.blank() || bytes.HasPrefix(l.text, []byte("}")):
		*m = matlab{}
	case bytes.HasPrefix(text, []byte("Error using ")):
		*m = matlab{message: 1}
	case l.says("Error in ") && isForeignFrame(l):
		*m = matlab{source: true}
	case m.source:
		return traitNoise
	case m.message == 1:
		m.message++
		return traitError
	case m.message > 1:
		return traitNoise
	}
	return 0
}
