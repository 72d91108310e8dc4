package exitcodes

import "bytes"

// stillTrying finds what was said right before a traceback with which the output ends, so that it names no exception: a
// condition that passes, or what a rule knows. Whatever the line says of trying again, it was not got over.
func (r *reader) stillTrying() (said, bool) {
	if !r.rules.families {
		return said{}, false
	}
	to := r.cutTraceback()
	if to == len(r.lines) {
		return said{}, false
	}
	if s, found := r.saidBefore(to); found {
		return s, true
	}
	return r.raising(to)
}

// saidBefore finds a condition that passes right before line to.
func (r *reader) saidBefore(to int) (said, bool) {
	for i, heads := to-1, 0; i >= 0 && to-i <= backtrace; i-- {
		l := &r.lines[i]
		if !indented(l.text) { // the answer of a server may have many lines
			if heads++; heads > closing {
				break
			}
		}
		switch {
		case l.blank(), indented(l.text), l.ofRuntime() && l.level == levelInfo, i == to-1 && bytes.HasSuffix(bytes.TrimSpace(l.text), []byte(":")), l.kind == kindNoise && !l.is(traitTracker), l.is(traitBar), l.contains("it/s, "), l.kind == kindOther && (l.says(advice...) || l.says("waiting for ", "Waiting for ")):
			continue
		case l.contains("Error reported to Coordinator: ", "Error recorded from "): // which TensorFlow tells as information
		case l.says("training_loop marked as finished", "Reraising captured error"), isBracket(l.text), l.says("'"):
			continue
		case r.inside[i], l.kind == kindWork, l.level == levelInfo, l.kind == kindOther && !l.is(traitTracker), l.is(traitWithout), r.longBefore(i, to):
			return said{}, false
		}
		if rule := l.rule; rule != nil && rule.Role > RoleNoise {
			fits := rule.Verdict == Retry || rule.Verdict == Preempted || rule.Verdict == Fatal && rule.Role == RoleRoot // which it is by its code anyway
			return said{match: Match{Rule: *rule, Line: l.shown()}, known: true, at: i}, fits
		}
		if !r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
			return said{}, false
		}
		if f := familyOf("", l.text); f.known() {
			return said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: i}, f.verdict == Retry || f.verdict == Fatal && f.role == RoleRoot
		}
		if !l.is(traitTracker) && (i < to-1 || !l.logged) && !(l.ofRuntime() && l.kind == kindSurvived) { // the record to which the traceback belongs
			return said{}, false
		}
	}
	return said{}, false
}

// lastWarned finds a condition that passes where the last line of all is a warning of it, or says that it is tried again: nothing
// shows that the program got over it.
func (r *reader) lastWarned() (said, bool) {
	if !r.rules.families {
		return said{}, false
	}
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		if l.blank() || indented(l.text) || l.kind == kindNoise || l.is(traitNoise) {
			continue
		}
		trying := bytes.HasSuffix(bytes.TrimRight(l.text, " ."), []byte(", retrying")) || l.contains("will be automatically retried") // whatever its level
		if !trying && (l.kind != kindSurvived || l.level != levelWarning && !l.is(traitHandled)) || r.inside[i] || l.is(traitWithout|traitTracker) {
			break
		}
		m := Match{Line: l.shown()}
		if l.rule != nil {
			m.Rule = *l.rule
		} else if (l.level == levelWarning || l.contains("retrying")) && r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
			m.Rule = familyOf("", l.text).rule()
		}
		return said{match: m, known: true, at: i}, m.Rule.Verdict == Retry || m.Rule.AfterProgress == Retry
	}
	return said{}, false
}

// cutTraceback is the first line of a traceback with which the output ends, before any exception is named; how many lines
// there are where there is none. Its heading may have been cut off, too.
func (r *reader) cutTraceback() int {
	first, frames, began := len(r.lines), 0, false
	for i := len(r.lines) - 1; i >= 0 && len(r.lines)-i <= backtrace; i-- {
		l := &r.lines[i]
		if !began && !isHeader(l.text) && !isFrame(l.text) && (l.kind == kindNoise || l.is(traitNoise|traitEcho) || besideTheRun(l) || r.tellsOutcome(l)) { // what a launcher says after it
			continue
		}
		began = began || !l.blank()
		if isHeader(l.text) {
			return i
		}
		if isFrame(l.text) {
			first, frames = i, frames+1
		}
		if r.inside[i] || !l.blank() && !indented(l.text) && first != i && !r.sourceOf(i) {
			break
		}
	}
	if frames < 2 {
		return len(r.lines)
	}
	return first
}

// sourceOf reports whether line i is the source of a frame, or the last line, where a page has lost the indentation.
func (r *reader) sourceOf(i int) bool {
	return i > 0 && isFrame(r.lines[i-1].text) && indent(r.lines[i-1].text) == 0 || i == len(r.lines)-1 && r.lines[i].says("File \"")
}

// isFrame reports whether a line is the place of a frame as Python prints it in a traceback.
func isFrame(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " "), []byte(`File "`)) && bytes.Contains(text, []byte(", line ")) && bytes.Contains(text, []byte(", in "))
}

// notebook finds the class of an exception whose traceback, as IPython prints it, has lost its end: it stands at the head of it.
func (r *reader) notebook() (said, bool) {
	if !r.rules.families {
		return said{}, false
	}
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		if l.kind == kindWork || r.inside[i] {
			break
		}
		class, _, headed := bytes.Cut(l.text, []byte("   "))
		if !headed || !bytes.HasSuffix(bytes.TrimSpace(l.text), []byte(" Traceback (most recent call last)")) || !r.meter.afford(familyPasses, len(class)) {
			continue
		}
		f := familyOf(string(class), nil)
		return said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: i}, f.verdict == Retry || f.verdict == Preempted
	}
	return said{}, false
}
