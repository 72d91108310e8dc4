package exitcodes

import (
	"bytes"
	"strings"

	"github.com/gangrun/gangrun/exitcodes/wording"
)

const (
	maxWeighed = 40 // last lines that are weighed
	tellsLeast = -3 // what a line must weigh to be shown as what tells why it ended
)

// mostTelling is the line that tells most by its words, and by what the reader makes of it, where nothing is known. s is what was found
// so far: an exception that nothing knows, if any.
func (r *reader) mostTelling(s said) said {
	best, most, far := -1, float64(tellsLeast), 0
	for i := len(r.lines) - 1; i >= 0 && far < maxWeighed; i-- {
		l := &r.lines[i]
		if l.blank() {
			continue
		}
		r.meter.pass(1, min(len(l.text), wording.MaxText))
		if tells := wording.Tells(r.marked(i, far)); tells > most && !isFrame(l.text) && !isHeader(l.text) {
			best, most = i, tells
		}
		far++
	}
	if best < 0 || s.unknown && best == s.at {
		return s
	}
	if at := r.rustPanic(best); at >= 0 {
		return said{exception: r.lines[at].shown() + " " + r.lines[at+1].shown(), at: at, unknown: true}
	}
	if m, ok := r.unforked(best); ok {
		return said{match: m, known: true, at: best}
	}
	return said{exception: r.stated(best), at: best, unknown: true, other: s.exception}
}

// stated is line i for a person: the head of the exception that it begins, or the line.
func (r *reader) stated(i int) string {
	for c := range r.chains {
		for _, m := range r.chains[c].members {
			if m.lines[0] == i {
				return r.head(m)
			}
		}
	}
	return r.statement(i)
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
