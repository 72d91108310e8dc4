package exitcodes

import "bytes"

// inUserCode reports whether an exception only heads the frames of the program's own code and, at their end, the exception that was
// raised there, all of them indented: "ValueError: in user code:".
func inUserCode(text []byte) bool {
	return bytes.HasSuffix(bytes.TrimSpace(text), []byte(": in user code:"))
}

// userCode reads those: the exception at the end takes the place of the one that heads them.
func (p *parser) userCode(i int, text []byte) {
	l, m := &p.r.lines[i], p.chain.last()
	if l.blank() {
		return
	}
	if indent(text) < userMargin {
		p.state, p.between = stateAfter, 0
		p.after(i, text)
		return
	}
	p.chain.end = i
	named := !inUserCode(p.r.lines[m.lines[0]].text)
	class, _, ok := exceptionHead(text[userMargin:])
	switch {
	case !named && indent(text) == userMargin && ok && looksRaised(class):
		p.chain.frames = append(p.chain.frames, m.lines...)
		l.text = text[userMargin:]
		m.class, m.lines = class, []int{i}
	case named && len(m.lines) <= maxMessage:
		m.lines = append(m.lines, i)
	default:
		p.chain.frames = append(p.chain.frames, i)
	}
}

const userMargin = 4
