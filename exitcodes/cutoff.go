package exitcodes

import (
	"bytes"
	"strings"
)

// Only the end of an output is kept: it may begin in the middle of a traceback.

// idle looks for a SyntaxError, which has a place in the source but no header, and for a traceback whose header came before
// what is kept of the output.
func (p *parser) idle(i int, text []byte) {
	if p.unheaded(i) {
		return
	}
	if !bytes.HasPrefix(text, []byte(`  File "`)) || !bytes.Contains(text, []byte(", line ")) {
		return
	}
	cutOff := !p.headed && bytes.Contains(text, []byte(", in ")) && !p.dumped()
	if cutOff || !bytes.Contains(text, []byte(", in ")) && !bytes.Contains(text[8:], []byte(" in ")) {
		p.begin(i)
		p.state, p.base, p.bare = stateFrames, 0, cutOff
		p.chain.frames = append(p.chain.frames, i)
	}
}

// dumped reports whether the line before says that a stack follows which is no traceback, or goes on one.
func (p *parser) dumped() bool {
	if len(p.heading) == 0 {
		return false
	}
	last := &p.r.lines[p.heading[len(p.heading)-1]]
	if indent(last.text) > 0 {
		return p.dump
	}
	p.dump = last.contains("tack", "ost recent call")
	return p.dump
}

// unheaded begins a chain whose first exception has no frames, since they are lost, or since it was never raised itself: the line before
// line i names it, and line i links it to the next.
func (p *parser) unheaded(i int) bool {
	lost := !p.headed && bytes.HasPrefix(p.r.lines[i].text, []byte(chainedContext)) // only a cause need not have been raised
	if len(p.heading) == 0 || !lost && !bytes.HasPrefix(p.r.lines[i].text, []byte(chainedCause)) {
		return false
	}
	h := p.heading[len(p.heading)-1]
	class, _, ok := exceptionHead(p.r.lines[h].text)
	if !ok || !looksRaised(class) && !strings.Contains(class, ".") {
		return false
	}
	p.begin(h)
	p.name(h, class)
	return p.linked(&p.r.lines[i])
}
