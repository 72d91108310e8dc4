package exitcodes

import (
	"bytes"
	"strings"
)

// passOverOptional takes the traceback of a module that could not be imported for survived where the program says right below it that it
// works without that module, and something else is told after that.
func (r *reader) passOverOptional() {
	for c := range r.chains {
		ch := &r.chains[c]
		if ch.ignored || ch.survived || ch.own || !strings.HasSuffix(ch.last().class, "ImportError") && !strings.HasSuffix(ch.last().class, "ModuleNotFoundError") {
			continue
		}
		next := ch.end + 1
		for next < len(r.lines) && r.lines[next].blank() {
			next++
		}
		if next >= len(r.lines) || !doesWithout(&r.lines[next]) || !r.errsAfter(next) {
			continue
		}
		ch.survived, ch.warned = true, true
		for i := ch.begin; i <= ch.end; i++ {
			if r.lines[i].kind == kindLast {
				r.lines[i].kind = kindSurvived
			}
		}
	}
}

// doesWithout reports whether a line says that something is not there, and what is done instead.
func doesWithout(l *line) bool {
	text := bytes.ToLower(l.text[:min(len(l.text), maxOutcome)])
	for _, instead := range []string{"using ", "falling back", "fall back", "fallback", "disabl", "without", "skipp", "continu", "will not be", "won't be"} {
		if bytes.Contains(text, []byte(instead)) {
			return !raises(l)
		}
	}
	return false
}

// raises reports whether a line names an exception.
func raises(l *line) bool {
	class, _, ok := exceptionHead(l.text)
	return ok && looksRaised(class)
}

// errsAfter reports whether something that went wrong was told after line i.
func (r *reader) errsAfter(i int) bool {
	for j := i + 1; j < len(r.lines); j++ {
		l := &r.lines[j]
		switch {
		case r.inside[j] && l.kind != kindLast, l.blank():
		case l.kind == kindLast && !l.is(traitEcho), l.rule != nil && l.rule.Role > RoleConfirm, !r.inside[j] && !l.is(traitEcho) && r.passes(l):
			return true
		}
	}
	return false
}
