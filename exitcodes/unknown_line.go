package exitcodes

import (
	"bytes"
	"strings"
)

// unknownLine is the line that tells most where nothing is known: the last that names an exception or an error, or else
// one of the last with which a program says what it cannot do.
func (r *reader) unknownLine() said {
	stated, echo := -1, -1
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		if r.inside[i] || l.is(traitNoise) || besideTheRun(l) || isFrame(l.text) || isHeader(l.text) {
			continue
		}
		if l.is(traitEcho) {
			if class, _, ok := exceptionHead(l.text); echo < 0 && (ok && looksRaised(class) || l.says("srun: error: ")) {
				echo = i
			}
			continue
		}
		if i < len(r.lines)-closing && stated >= 0 {
			break
		}
		if stated < 0 && l.kind == kindOther && l.level == levelNone && i >= len(r.lines)-closing && states(l) {
			stated = i
		}
		if l.kind == kindLast {
			if stated >= 0 && r.passes(l) { // and the program went on to what it states
				break
			}
			if at := r.rustPanic(i); at >= 0 {
				return said{exception: r.lines[at].shown() + " " + r.lines[at+1].shown(), at: at, unknown: true}
			}
			if m, ok := r.unforked(i); ok {
				return said{match: m, known: true, at: i}
			}
			return said{exception: r.statement(i), at: i, unknown: true}
		}
	}
	if stated >= 0 {
		return said{exception: r.statement(stated), at: stated, unknown: true}
	}
	if echo >= 0 { // better than nothing
		return said{exception: r.statement(echo), at: echo, unknown: true}
	}
	return said{at: len(r.lines)}
}

// passes reports whether a line names a condition that passes.
func (r *reader) passes(l *line) bool {
	if !r.rules.families || !r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
		return false
	}
	return familyOf("", l.text).verdict == Retry
}

// statement is line i for a person, and the next one where line i is only a heading: the upper edge of a box, or an exception whose
// message begins below its name.
func (r *reader) statement(i int) string {
	l := &r.lines[i]
	if i+1 >= len(r.lines) || r.lines[i+1].blank() {
		return l.shown()
	}
	next := strings.TrimSpace(strings.Trim(r.lines[i+1].shown(), "\u2502 |"))
	if bytes.HasPrefix(l.text, []byte("\u256d\u2500")) {
		return next
	}
	if class, message, ok := exceptionHead(l.text); ok && message == "" && looksRaised(class) && bytes.HasSuffix(bytes.TrimSpace(l.text), []byte(":")) ||
		!r.inside[i] && l.says("Exception in ") && bytes.HasSuffix(bytes.TrimSpace(l.text), []byte(":")) && !isHeader(r.lines[i+1].text) { // "Exception in worker 3:"
		return l.shown() + " " + next
	}
	return l.shown()
}
