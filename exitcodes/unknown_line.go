package exitcodes

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/exitcodes/wording"
)

const (
	maxWeighed = 40 // last lines that are weighed
	tellsLeast = -3 // what a line must weigh to be shown as what tells why it ended,
	statesMost = -2 // and one that tells of no error by itself
	raisedMore = 2  // by how much another line must outweigh the exception that ended the program
)

// mostTelling is the line that tells most by its words, and by what the reader makes of it, where nothing is known. s is what was found
// so far: an exception that nothing knows, if any.
func (r *reader) mostTelling(s said) said {
	if s.exception == "" {
		if alone, found := r.nameAlone(); found {
			return alone
		}
	}
	type weighed struct {
		line  int
		aside int // 1 of what a shell could not put away, which tells only where nothing else does
		tells float64
	}
	var all []weighed
	least := float64(tellsLeast)
	later := false
	for i, far := len(r.lines)-1, 0; i >= 0 && far < maxWeighed; i-- {
		l := &r.lines[i]
		if l.blank() || l.headed {
			continue
		}
		r.meter.pass(1, min(len(l.text), wording.MaxText))
		if isFrame(l.text) || isHeader(l.text) {
			// shows where
		} else if tells := wording.Tells(r.marked(i, far, later)); s.unknown && i == s.at {
			least = tells + raisedMore
		} else if r.mayTell(l, tells) {
			if s.exception != "" && !s.unknown && ofCompiler(l) { // at which the exception points
				tells += raisedMore
			}
			all = append(all, weighed{i, 0, tells})
			if besideTheRun(l) {
				all[len(all)-1].aside = 1
			}
		}
		if !(indented(l.text) && r.inside[i] || l.kind == kindNoise && (indented(l.text) || isForeignFrame(l))) { // a stack may be of any length
			far++
		}
		later = later || l.kind == kindLast && !l.is(traitEcho) && !besideTheRun(l)
	}
	slices.SortStableFunc(all, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(a.aside, b.aside), cmp.Compare(b.tells, a.tells))
	})
	for _, w := range all {
		if w.tells < least || r.rejected(w.line) {
			continue
		}
		if at := r.rustPanic(w.line); at >= 0 {
			return said{exception: r.lines[at].shown() + " " + r.lines[at+1].shown(), at: at, unknown: true}
		}
		if m, ok := r.unforked(w.line); ok {
			return said{match: m, known: true, at: w.line}
		}
		if at := r.boxHead(w.line); at < w.line {
			return said{exception: strings.TrimSpace(r.lines[at].shown() + " " + r.lines[at+1].shown()), at: at, unknown: true, other: s.exception}
		}
		return said{exception: r.stated(w.line), at: w.line, unknown: true, other: s.exception, hint: r.lines[w.line].kind == kindOther || r.lines[w.line].level == levelInfo}
	}
	if s.exception == "" {
		return r.onlyLine(s)
	}
	return s
}

// nameAlone is an exception of which nothing is left but its name, in the last line: it has no message, and its traceback is cut off. It
// tells what ended the program, and nothing of why.
func (r *reader) nameAlone() (said, bool) {
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		if l.blank() {
			continue
		}
		class, message, ok := exceptionHead(l.text)
		if !ok || message != "" || class == "Error" || r.inside[i] || !strings.HasSuffix(class, "Error") && !strings.HasSuffix(class, "Exception") && class != "StopIteration" {
			break
		}
		return said{exception: r.head(member{class: class, lines: []int{i}}), at: i, unknown: true}, true
	}
	return said{}, false
}

// onlyLine is the line of an output that has just one, where nothing told more: whatever it says, the process said nothing else.
func (r *reader) onlyLine(s said) said {
	only := -1
	for i := range r.lines {
		if l := &r.lines[i]; l.blank() || l.is(traitBar|traitEpilogue) {
			continue
		}
		if only >= 0 || r.lines[i].kind == kindWork {
			return s
		}
		only = i
	}
	if only < 0 {
		return s
	}
	if l := &r.lines[only]; !l.is(traitError) && !listed(l.shown()) || l.is(traitEcho) || measured().Match(l.text[:min(len(l.text), 200)]) || r.rejected(only) {
		return s
	}
	return said{exception: r.lines[only].shown(), at: only, unknown: true, hint: true}
}

// mayTell reports whether a line that weighs so much may be shown as what tells why it ended: no noise but a tracker's, and a launcher's
// only where it names an exception or a task.
func (r *reader) mayTell(l *line, tells float64) bool {
	if text := bytes.TrimSpace(l.text); bytes.HasSuffix(text, []byte(":")) && bytes.IndexByte(text, ' ') < 0 && r.isLast(l) || bytes.HasSuffix(text, []byte("code: 0")) { // a label of nothing, or what went well
		return false
	}
	if l.is(traitEcho) {
		class, _, ok := exceptionHead(l.text)
		return ok && looksRaised(class) || l.says("srun: error: ", "MPI_ABORT was invoked", "application called MPI_Abort(") || l.says("Abort(") && l.contains("application called MPI_Abort(")
	}
	switch l.kind {
	case kindLast, kindSurvived:
		return true
	case kindNoise:
		return l.is(traitTracker) && tells >= statesMost
	}
	return tells >= statesMost && prose(l.text)
}

// ofCompiler reports whether a compiler or a linker tells in a line what it does not take.
func ofCompiler(l *line) bool {
	return l.contains(": error: ", ": fatal error: ", ": error #", "ld: cannot find ", "undefined reference to ", "ld.lld: error: ") && !l.is(traitEcho)
}

// isLast reports whether nothing follows a line but lines that are blank.
func (r *reader) isLast(l *line) bool {
	for i := len(r.lines) - 1; i >= 0; i-- {
		if !r.lines[i].blank() {
			return &r.lines[i] == l
		}
	}
	return false
}

// prose reports whether a line says something, rather than what was measured.
func prose(text []byte) bool { return worded(text) && !measured().Match(text[:min(len(text), 200)]) }

// rejected reports whether line i tells of a condition that passes, which is known, and all the same nothing took it for the end.
func (r *reader) rejected(i int) bool {
	l := &r.lines[i]
	return l.rule != nil && l.rule.Verdict != Fatal || r.passes(l)
}

// passes reports whether a line names a condition that passes.
func (r *reader) passes(l *line) bool {
	return r.rules.families && r.familyIn(string(l.text)).verdict == Retry
}

// worded reports whether a line has more words than numbers, which are of a loss, of a time, of the best of a run.
func worded(text []byte) bool {
	words, numbers := 0, 0
	for word := range bytes.FieldsSeq(text[:min(len(text), 200)]) {
		if bytes.ContainsAny(word, "0123456789=[]{}") {
			numbers++
		} else {
			words++
		}
	}
	return words >= 3 && words > 2*numbers
}

// stated is line i for a person: the head of the exception that it begins, or the line. Where it only ends with the name of an exception,
// a line before it may have told its message, too.
func (r *reader) stated(i int) string {
	text := r.lines[i].shown()
	class := text[strings.LastIndexByte(text, ' ')+1:]
	if strings.IndexByte(class, '.') > 0 && len(class) < len(text) && looksRaised(class) {
		for j := i - 1; j >= 0 && i-j <= fresh && r.meter.afford(1, len(r.lines[j].text)); j-- {
			if r.lines[j].contains(class + ": ") {
				return r.lines[j].shown()
			}
		}
	}
	for c := range r.chains {
		for _, m := range r.chains[c].members {
			if m.lines[0] == i {
				return r.head(m)
			}
		}
	}
	return r.statement(i)
}

// goesBelow reports whether what line i says goes on in the next one, as R ("Error in f(x) :", "! no such column"), Fortran's programs in
// their boxes and clients of registries ("reading manifest: errors:", "denied: no such name") write it.
func (r *reader) goesBelow(i int) bool {
	next := &r.lines[i+1]
	return next.says("! ") || !r.inside[i] && !r.inside[i+1] && next.tag == r.lines[i].tag && !next.logged && !next.is(traitNoise|traitEcho) && !isHeader(next.text) && !isFrame(next.text) &&
		bytes.IndexByte(bytes.TrimSpace(next.text), ' ') > 0
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
	if l.kind == kindLast && l.is(traitError) && bytes.HasSuffix(bytes.TrimSpace(l.text), []byte(":")) && r.goesBelow(i) {
		return l.shown() + " " + next
	}
	return l.shown()
}
