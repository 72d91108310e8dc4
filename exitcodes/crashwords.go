package exitcodes

import "strings"

// crashWords weighs what was said before a death by a signal: the exception of which the program had ended by then, and
// lines that are no exceptions of Python.
func (r *reader) crashWords() said {
	if s, found := r.endedBefore(); found {
		return s
	}
	var best, raised said
	raisedLater := r.raisedLater()
	for i := range r.lines {
		l := &r.lines[i]
		rule := l.rule
		if r.inside[i] || rule == nil || rule.Role <= RoleConfirm || l.kind == kindSurvived || l.kind == kindWork ||
			l.level == levelInfo || l.level == levelWarning && rule.Verdict == Fatal {
			continue
		}
		if class, _, ok := exceptionHead(l.text); rule.Verdict == Fatal && ok && looksRaised(class) {
			continue
		}
		into := &best
		if raisedLater[rule.Name] > i {
			into = &raised
		}
		if !into.known || r.rules.better(rule, &into.match.Rule) {
			*into = said{match: Match{Rule: *rule, Line: r.withWhat(i)}, known: true, at: i}
		}
	}
	if !best.known {
		best = raised
	}
	if best.known && best.match.Rule.Name == terminateRule {
		return r.thrown(best)
	}
	return best
}

// raisedLater are the rules that fit an exception which did not end the program, and the last line of each: what a library logged
// of it before had become that exception.
func (r *reader) raisedLater() map[string]int {
	last := map[string]int{}
	for i := range r.lines {
		if rule := r.lines[i].rule; rule != nil && r.inside[i] {
			last[rule.Name] = i
		}
	}
	return last
}

// terminateRule is about an exception of C++ that nobody caught.
const terminateRule = "cxx.terminate"

// thrown names the condition of which an exception of C++ tells, so that it does not pass for an echo: a device in a bad state,
// a lost peer. It makes nothing fatal.
func (r *reader) thrown(s said) said {
	_, what, found := strings.Cut(s.match.Line, " what(): ")
	if !found || !r.rules.families || !r.meter.afford(familyPasses, min(len(what), maxMessageText)) {
		return s
	}
	if f := familyOf("", []byte(strings.TrimSpace(what))); f.known() && f.verdict == Retry {
		s.match.Rule = f.rule()
	}
	return s
}

// withWhat is line i, and the next one where that tells what an exception of C++ says.
func (r *reader) withWhat(i int) string {
	text := r.lines[i].shown() + r.lastError(i)
	if i+1 < len(r.lines) && r.lines[i].says("terminate called after") && strings.HasPrefix(r.lines[i+1].shown(), "what(): ") {
		text += " " + r.lines[i+1].shown()
	}
	return text
}
