package output

import "bytes"

// maxLine is the longest piece of a line that goes to a console, in bytes, without its prefix and newline.
const maxLine = 64 << 10

// lines turns a stream of bytes into lines behind a prefix. What comes out does not depend on how what goes in was cut
// into chunks.
type lines struct {
	prefix   string
	begun    []byte // of a line that has not ended yet; at most maxLine
	returned bool   // a carriage return was the last thing to come out: a newline now ends that same line
}

// continues reports whether what p gives begins with the newline of a line that is out already.
func (l *lines) continues(p []byte) bool {
	return l.returned && len(l.begun) == 0 && len(p) > 0 && p[0] == '\n'
}

// format appends to dst the lines that p completes, and returns what is left of p once dst holds a block or more.
func (l *lines) format(dst, p []byte) (out, rest []byte) {
	pos, nl, cr := 0, -1, -1
	for pos < len(p) && len(dst) < blockSize {
		if nl < pos {
			nl = find(p, pos, '\n')
		}
		if cr < pos {
			cr = find(p, pos, '\r')
		}
		end := min(nl, cr)
		if room := maxLine - len(l.begun); end-pos > room {
			dst = l.emit(dst, p[pos:pos+room])
			dst = append(dst, '\n')
			pos += room
			continue
		}
		if end == len(p) {
			l.begun = append(l.begun, p[pos:]...)
			pos = end
			break
		}
		empty := end == pos && len(l.begun) == 0
		switch {
		case empty && p[end] == '\r':
			// Moves the cursor to where it is.
		case empty && l.returned:
			dst = append(dst, '\n')
			l.returned = false
		default:
			dst = l.emit(dst, p[pos:end+1])
			l.returned = p[end] == '\r'
		}
		pos = end + 1
	}
	return dst, p[pos:]
}

// flush appends what is left of a line without an end.
func (l *lines) flush(dst []byte) []byte {
	if len(l.begun) == 0 {
		return dst
	}
	return l.emit(dst, nil)
}

func (l *lines) emit(dst, p []byte) []byte {
	dst = append(dst, l.prefix...)
	if len(l.begun) > 0 {
		dst = append(dst, l.begun...)
		l.begun = l.begun[:0]
	}
	return append(dst, p...)
}

// find returns the index of the first c in p at or after from, len(p) if there is none.
func find(p []byte, from int, c byte) int {
	if i := bytes.IndexByte(p[from:], c); i >= 0 {
		return from + i
	}
	return len(p)
}
