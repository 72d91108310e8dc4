package exitcodes

import (
	"bytes"
	"sort"
	"strings"
)

// explainsFrom is where the lines begin that may explain the exception at line i, which says nothing by itself.
func (r *reader) explainsFrom(i int) int {
	from := max(0, i-fresh)
	for _, at := range r.work {
		if n := sort.SearchInts(at, i); n > 0 {
			from = max(from, at[n-1]+1)
		}
	}
	return from
}

// loose finds what lines outside of tracebacks say best: the strongest role, then the earliest rule, then the latest
// line. Beside an exception only lines count that are errors of their own.
func (r *reader) loose(from, to int, beside bool) (best Match, at int, found bool) {
	told := false // best only tells of an abort
	for i := from; i < to; i++ {
		l := &r.lines[i]
		if r.inside[i] {
			continue
		}
		rule := l.rule
		switch {
		case rule != nil && len(rule.ExitCodes) > 0 && rule.Role > RoleConfirm:
		case l.kind == kindSurvived || l.kind == kindWork || l.level == levelInfo && !(rule != nil && (rule.OnSuccess || rule.Verdict == Preempted)):
			continue
		case rule != nil && rule.Role > RoleConfirm:
		case r.rules.families && l.kind != kindNoise && (l.shellKilled() || l.is(traitSignal) && childKilled("", "", l.text, hears(saysSignal)).known()):
			f := transient("killed", "ChildKilled", RoleSuspect).rule()
			rule = &f
		case r.rules.families && !beside && l.kind != kindNoise && l.is(traitError) && !r.underWarning(i) && r.meter.afford(familyPasses, min(len(l.text), maxMessageText)):
			rule = r.raisedAlone(i)
		default:
			rule = nil
		}
		if rule == nil {
			continue
		}
		if rule.Name == "family.killed" && r.endedByMPI(i) || r.wentOn(rule, i) || r.afterKill(rule, i) {
			continue
		}
		aborted := rule.Reason == "ChildKilled" && r.meter.afford(1, len(l.text)) && l.contains("Aborted", "SIGABRT", "on signal 6", "code -6", "code = -6")
		switch {
		case found && aborted && !told: // who aborts has said why, and so have those of whose death it aborts
		case found && rule.Name == best.Rule.Name && indented(l.text) && r.listed(at, i): // it goes on what is said there
		case !found || told && !aborted || r.rules.better(rule, &best.Rule):
			best, at, found, told = Match{Rule: *rule, Line: r.withWhat(i)}, i, true, aborted
		}
	}
	return best, at, found
}

// underWarning reports whether line i is the exception that a program in Java has logged with a warning, which it got over.
func (r *reader) underWarning(i int) bool {
	return i > 0 && i+1 < len(r.lines) && r.lines[i-1].logged && r.lines[i-1].level == levelWarning && r.lines[i-1].kind == kindSurvived && !r.lines[i].logged && isForeignFrame(&r.lines[i+1])
}

// endedByMPI reports whether line i is the word of a process about its end by SIGTERM, which mpiexec sends to all where one has failed by
// itself: it says so after that.
func (r *reader) endedByMPI(i int) bool {
	if !r.lines[i].contains("signal (15)") {
		return false
	}
	for j := len(r.lines) - 1; j > i && j >= len(r.lines)-closing; j-- {
		if l := &r.lines[j]; l.contains("Exit code:    ") && !l.contains("Exit code:    0") {
			return true
		}
	}
	return false
}

// listed reports whether the lines between a head and line i all go on it, as a list of sizes that do not fit.
func (r *reader) listed(head, i int) bool {
	for head++; head < i; head++ {
		if !indented(r.lines[head].text) {
			return false
		}
	}
	return true
}

// wentOn reports whether a shell that did not find a command went on to the next one, as a script does which loads modules where
// there are none. One that ends of it says so by its code.
func (r *reader) wentOn(rule *Rule, i int) bool {
	return rule.Reason == ReasonNotFound && rule.Name != "mpi.not_found" && r.code < CodeNotExecutable && r.code > 0 &&
		(r.raisedBeside(i) || r.othersAfter(i, r.lines[i].tag))
}

// raisedBeside reports whether a program has ended of an exception after line i, or before it, over the code of that.
func (r *reader) raisedBeside(i int) bool {
	if len(r.chains) == 0 {
		return false
	}
	c := &r.chains[len(r.chains)-1]
	return c.begin > i || r.code == uncaught && !c.ignored && !c.survived && !c.logged
}

// afterKill reports whether a shell that cannot read a line of its script had told before, in the same script, that the kernel
// or somebody had killed what it ran: it continued with what was left, and its code is that of the last command.
func (r *reader) afterKill(rule *Rule, i int) bool {
	if !strings.HasPrefix(rule.Name, "shell.") {
		return false
	}
	if rule.Reason == ReasonNotFound { // nor does it find what a compiler was to make that was killed
		for j := i - 1; j >= 0 && j >= i-fresh; j-- {
			if before := r.lines[j].rule; before != nil && before.Name == "build.killed" {
				return true
			}
		}
	}
	script, _, found := bytes.Cut(r.lines[i].text, []byte(": line "))
	if !found || len(script) > 200 {
		return false
	}
	for j := i - 1; j >= 0 && j >= i-fresh; j-- {
		if killedIn(r.lines[j].text, script) {
			return true
		}
	}
	return false
}

// killedIn reports whether the script's shell tells in a line that a child was killed.
func killedIn(text, script []byte) bool {
	rest, found := bytes.CutPrefix(text, script)
	return found && bytes.HasPrefix(rest, []byte(": line ")) && shellKilled(text)
}

// raisedHead splits a line that names an exception, of Python or of another language, without a traceback.
func raisedHead(text []byte) (class, message string, ok bool) {
	if class, message, ok = exceptionHead(text); ok && looksRaised(class) {
		return class, message, true
	}
	if inner, rest, named := exceptionHead([]byte(message)); ok && named && looksRaised(inner) { // behind the name of a logger
		return inner, rest, true
	}
	for _, head := range []func([]byte) (string, string, bool){reprHead, coordinatorHead, libhdfsHead} {
		if class, message, ok = head(text); ok {
			return class, message, true
		}
	}
	return foreignHead(text)
}

// reprHead splits an exception that a program has printed as Python writes it in source, as Hydra does: TypeError("x").
func reprHead(text []byte) (class, message string, ok bool) {
	text = bytes.TrimSpace(text)
	i := bytes.IndexByte(text[:min(len(text), 120)], '(')
	if i <= 0 || len(text) < i+4 || text[len(text)-1] != ')' || text[i+1] != text[len(text)-2] || text[i+1] != '\'' && text[i+1] != '"' {
		return "", "", false
	}
	class, _, ok = exceptionHead(text[:i])
	return class, string(text[i+2 : len(text)-2]), ok && looksRaised(class)
}

// raisedAlone judges an exception that stands without a traceback, as a program prints it that catches everything, or one
// of another language.
func (r *reader) raisedAlone(i int) *Rule {
	l := &r.lines[i]
	class, message, ok := raisedHead(l.text)
	if !ok {
		return nil
	}
	if next := i + 1; next < len(r.lines) && strings.HasSuffix(message, ":") && r.lines[next].tag == l.tag && !r.lines[next].logged { // it goes on there
		message += " " + r.lines[next].shown()
	}
	f := familyOf(class, []byte(message))
	if _, _, hdfs := libhdfsHead(l.text); hdfs && class == "java.io.EOFException" { // the connection over which it had asked a server
		f = transient("class", ReasonPeerLost, RoleCascade)
	}
	if !f.known() || f.verdict == Fatal && !f.printed {
		return nil
	}
	rule := f.rule()
	return &rule
}
