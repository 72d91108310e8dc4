package exitcodes

import "bytes"

// parting judges the last lines of a program that ended without an exception, as one in Go does, a command or a script
// that prints what went wrong and exits: a condition that passes, if one of them says so and none after it tells of
// something else. What is indented goes on a line before it. Its lines end before to.
func (r *reader) parting(to int) (Match, int, bool) {
	if !r.rules.families {
		return Match{}, 0, false
	}
	heads := 0
	later := "" // whose error is told after line i
	for i := to - 1; i >= 0 && to-i <= backtrace; i-- {
		l := &r.lines[i]
		if isRule(l.text) && !l.is(traitEcho) {
			break
		}
		if l.blank() || l.kind == kindNoise || l.is(traitNoise|traitEcho) {
			continue
		}
		if l.kind == kindWork || r.inside[i] {
			break
		}
		if indent(l.text) == 0 {
			if heads++; heads > closing {
				break
			}
		}
		r.meter.pass(2, min(len(l.text), 200))
		who := speaker(l.text)
		if l.kind != kindLast {
			if states(l) && later != "" && later != who {
				break
			}
			if states(l) {
				later = who
			}
			continue
		}
		class, message, raised := raisedHead(l.text)
		if raised && isLogicError(class) || !r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
			break
		}
		text := l.text
		if raised {
			text = []byte(message)
		}
		if f := familyOf(class, text); f.known() {
			return Match{Rule: f.rule(), Line: l.shown()}, i, f.verdict == Retry && (later == "" || later == who || r.gaveUp(l))
		}
		if !namesError(l) && !states(l) {
			continue
		}
		if later != "" && later != who {
			break
		}
		later = who
	}
	return Match{}, 0, false
}

const closing = 12 // lines with which a program takes its leave

// speaker is the first word of a line, which most commands begin with their name.
func speaker(text []byte) string {
	text = bytes.TrimLeft(text, " ")
	if i := bytes.IndexAny(text, " :["); i > 0 {
		text = text[:i]
	}
	return string(text[:min(len(text), 64)])
}

// states reports whether a line is a statement of its own about something that it names: "config.yaml: line 4: no such key".
func states(l *line) bool {
	if l.level == levelInfo || indent(l.text) > 0 || l.kind == kindSurvived {
		return false
	}
	i := bytes.Index(l.text[:min(len(l.text), 40)], []byte(": "))
	return i > 0 && len(bytes.Fields(l.text[i+2:min(len(l.text), 200)])) >= 3
}

// namesError reports whether a line begins with the word that it is an error: "error: ", "rsync error: ".
func namesError(l *line) bool {
	if l.level == levelError {
		return true
	}
	head := l.text[:min(len(l.text), 40)]
	i := bytes.IndexByte(head, ':')
	if i < 0 {
		return false
	}
	head = bytes.ToLower(head[:i])
	return bytes.Contains(head, []byte("error")) || bytes.Contains(head, []byte("fatal"))
}
