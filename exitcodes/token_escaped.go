package exitcodes

import (
	"bytes"
	"strings"
)

// escapedStack finds a traceback that stands within a line as a string in quotes, its line ends escaped, as torch prints what
// it has recorded: "py_callstack": "Traceback (most recent call last):\n  File ...". at is where it begins; -1 when there is none.
func escapedStack(text []byte) (stack string, at int) {
	at = bytes.Index(text, []byte(traceback+`\n`))
	if at < 1 || text[at-1] != '"' && text[at-1] != '\'' {
		return "", -1
	}
	return unescaped(text[at:], text[at-1]), at
}

// unescaped is a string up to the quote that ends it, or as much of it as there is.
func unescaped(text []byte, quote byte) string {
	var b strings.Builder
	for i := 0; i < len(text) && text[i] != quote; i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) {
			i++
			switch c = text[i]; c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// expandStack appends what stands before an escaped traceback, and its lines.
func expandStack(lines []line, l line, stack string, at int, labels bool, m *meter) []line {
	before := l
	before.text = clipped(l.text[:at-1])
	lines = append(lines, before)
	n := 0
	for text := range strings.Lines(stack) {
		if n++; n > maxExpand {
			break
		}
		m.pass(2, len(text))
		next := line{number: l.number, offset: l.offset, raw: []byte(strings.TrimRight(text, "\r\n")), tag: l.tag, own: l.own, clock: l.clock}
		lines = tokenizePlain(lines, next, labels, m)
	}
	return lines
}
