package exitcodes

import (
	"slices"
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
		if next >= len(r.lines) || r.lines[next].tag != ch.tag || !doesWithout(&r.lines[next], moduleOf(r.lines[ch.last().lines[0]].shown())) || !r.errsAfter(next, ch.tag) {
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

// doesWithout reports whether a line says that the module is not there, and what is done instead.
func doesWithout(l *line, module string) bool {
	text := strings.ToLower(string(l.text[:min(len(l.text), maxOutcome)]))
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	}
	return module != "" && has(module) && has("using ", "falling back", "fall back", "fallback", "disabl", "without", "will not be", "won't be") &&
		!has("cannot", "can't", "could not", "couldn't", "exit", "abort", "fail", "required", "must ") && !raises(l)
}

// moduleOf is the first part of the name of the module that an exception misses, in lower case.
func moduleOf(exception string) string {
	for _, mark := range []string{"No module named ", " from "} {
		if _, rest, found := strings.Cut(exception, mark); found {
			name, _, _ := strings.Cut(strings.Trim(rest, "'\""), "'")
			name, _, _ = strings.Cut(name, ".")
			return strings.ToLower(name)
		}
	}
	return ""
}

// raises reports whether a line names an exception.
func raises(l *line) bool {
	class, _, ok := exceptionHead(l.text)
	return ok && looksRaised(class)
}

// errsAfter reports whether something that went wrong was told after line i.
func (r *reader) errsAfter(i int, tag string) bool {
	for j := i + 1; j < len(r.lines); j++ {
		l := &r.lines[j]
		switch {
		case !related(l.tag, tag), r.inside[j] && l.kind != kindLast, l.blank():
		case l.kind == kindLast && !l.is(traitEcho), l.rule != nil && l.rule.Role > RoleConfirm, !r.inside[j] && !l.is(traitEcho) && r.passes(l):
			return true
		}
	}
	return false
}
