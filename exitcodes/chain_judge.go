package exitcodes

import (
	"slices"
	"strings"
)

// judgeStream judges the chain c and, where it only passes on what another process said, the one before it.
func (r *reader) judgeStream(c int) said {
	s := r.judgeChain(&r.chains[c])
	if before, found := r.interruptedBefore(c, s); found {
		return before
	}
	if !s.known && r.cutLauncher(c) {
		return r.judgeStream(c - 1)
	}
	if s.known {
		if s.role() == RoleCascade {
			return r.echoed(c, s)
		}
		return s
	}
	l := &r.lines[s.at]
	if !l.is(traitEcho) && !ofCommand[lastName(r.chains[c].last().class)] && !r.passesOnCommand(c) && !strings.HasSuffix(r.chains[c].last().class, "ChildFailedError") { // of a report that cannot be read
		return s
	}
	if l.contains(readerThread, streamThread) {
		if t, found := r.threadOf(c); found {
			t.other = s.exception
			return t
		}
	}
	for i := c - 1; i >= 0; i-- {
		if before := &r.chains[i]; !before.ignored && !before.survived && lastName(before.last().class) != "CalledProcessError" {
			if t := r.judgeStream(i); t.known || t.unknown {
				t.other = s.exception
				return t
			}
			break // which has read those before it
		}
	}
	s.unknown, s.program = false, false
	return s
}

// threadOf finds, before the chain c, what a thread ended of that the program points at without a name: the last one,
// unless another is no condition that passes.
func (r *reader) threadOf(c int) (best said, found bool) {
	for i := c - 1; i >= 0; i-- {
		before := &r.chains[i]
		if before.ignored && !before.thread || before.survived {
			continue
		}
		t := r.judgeChain(before)
		if t.known && t.role() == RoleCascade {
			t = r.echoed(i, t)
		}
		if !t.known && !t.unknown {
			continue
		}
		if passes := t.known && t.match.Rule.Verdict == Retry; !passes {
			return t, true
		}
		if !found {
			best, found = t, true
		}
	}
	return best, found
}

// echoed looks for the cause of what is known to be another's echo: an exception right before it, with nothing between,
// is that of another process which shares this output. Whoever catches one and goes on says something first.
func (r *reader) echoed(c int, s said) said {
	if c == 0 {
		return s
	}
	now, before := &r.chains[c], &r.chains[c-1]
	if before.ignored || before.survived || before.logged || now.own || !r.looksUncaught(before) || strings.HasSuffix(before.last().class, "ImportError") ||
		strings.HasSuffix(before.last().class, "ModuleNotFoundError") {
		return s // optional imports are caught everywhere, and two streams do not keep their order
	}
	for i := before.end + 1; i < now.begin; i++ {
		if l := &r.lines[i]; !l.blank() && !l.says("Process ") {
			return s
		}
	}
	if a, b := r.lines[before.end].at, r.lines[now.begin].at; !a.IsZero() && b.Sub(a) > echoes {
		return s
	}
	if cause := r.judgeChain(before); cause.known && cause.role() == RoleRoot || cause.unknown && cause.program {
		cause.other = s.match.Line
		return cause
	}
	return s
}

// judgeChain weighs a chain. Where the output ends in the traceback of one more exception, what was said before, or its frames, may
// tell what passes.
func (r *reader) judgeChain(c *chain) said {
	s := r.judgeNamed(c)
	if t, found := r.notSetUp(c, s); found {
		return t
	}
	if t, found := r.raisedItself(c.begin, s); found {
		return t
	}
	if !c.cut && !r.nameCut(c) || s.known && s.match.Rule.Verdict == Retry || !r.rules.families {
		return s
	}
	for _, read := range []func() (said, bool){func() (said, bool) { return r.saidBefore(c.begin) }, func() (said, bool) { return r.raising(c.head) }} {
		if t, found := read(); found && (t.match.Rule.Verdict == Retry || !s.known && !s.program) {
			t.other = s.exception
			return t
		}
	}
	return s
}

// switchedOffRule is about a hub that was not even asked, since a setting forbids it: that it "could not be reached" is no condition
// that passes then.
const switchedOffRule = "hub.switched_off"

// judgeNamed weighs the exceptions of a chain that are named: the one that ended the program first; where nothing knows it, the nearest one before
// it that something knows. A transient one decides whatever the link; a deterministic one only as a cause.
func (r *reader) judgeNamed(c *chain) said {
	c = c.beforeExit()
	final := said{at: c.last().lines[0], unknown: true, program: programs(c.last().class) || r.passesOnBug(c.last())}
	final.exception = r.head(*c.last())
	caused := true // the exception at hand caused what came after it
	var best said
	for i := len(c.members) - 1; i >= 0; {
		first := i
		for first > 0 && c.members[first].link == linkSibling {
			first--
		}
		m, at, ok := r.judgeUnit(c.members[first : i+1])
		if ok && final.program && m.Rule.Role == RoleCascade && i+1 < len(c.members) && c.members[i+1].link == linkNested && !c.grouped() {
			ok = false // it passes on what the program itself did wrong
		}
		if ok && (caused || m.Rule.Verdict != Fatal) {
			s := said{match: m, known: true, at: at}
			if i < len(c.members)-1 {
				s.other = final.exception
			}
			switch {
			case !best.known:
				best = s
			case caused && (m.Rule.Verdict == Retry || m.Rule.Name == switchedOffRule) && s.role() > best.role(): // it names the cause of what is only an echo
				best = s
			}
			if best.match.Rule.Verdict == Fatal || best.role() == RoleRoot {
				return r.forked(c, r.emptied(c, r.served(c, i, best)))
			}
		}
		if c.members[first].link == linkContext {
			caused = false
		}
		i = first - 1
	}
	if best.known {
		return best
	}
	if r.pipeClosed(c) {
		if s, found := r.childTold(c); found {
			s.other = final.exception
			return s
		}
		closed := transient("pipe", "ChildKilled", RoleCascade).rule()
		return said{match: Match{Rule: closed, Line: final.exception}, known: true, at: final.at}
	}
	if m, ok := r.unforked(final.at); ok {
		return said{match: m, known: true, at: final.at}
	}
	return r.ofBug(c, final)
}

// grouped reports whether the chain is of an ExceptionGroup: its branches stand side by side, and pass nothing on.
func (c *chain) grouped() bool {
	return slices.ContainsFunc(c.members, func(m member) bool { return strings.HasSuffix(m.class, "ExceptionGroup") })
}

// pipeClosed reports whether a chain ends with the end of a pipe to another process of multiprocessing, which is gone. Where
// nothing is left of its traceback (see unprinted), it was the signal of the child's end that came between.
func (r *reader) pipeClosed(c *chain) bool {
	return r.rules.families && c.last().class == "EOFError" && len(c.last().lines) == 1 &&
		(r.through(c, "multiprocessing/connection.py\"") || r.through(c, "object type name: EOFError") && !r.through(c, "  File \"") || r.through(c, "multiprocessing/reduction.py\"") && r.through(c, "in recvfds") ||
			r.through(c, "multiprocessing/managers.py\"") && r.through(c, "conn.recv()"))
}

// childTold is what a child said right before its parent found the pipe closed, where a rule knows it for a cause.
func (r *reader) childTold(c *chain) (said, bool) {
	if at := r.crashedBefore(c.begin); at >= 0 {
		return said{match: Match{Rule: transient("pipe", "ChildKilled", RoleCascade).rule(), Line: r.lines[at].shown()}, known: true, at: at}, true
	}
	if s, found := r.childRaised(c); found {
		return s, true
	}
	for i := c.begin - 1; i >= 0 && c.begin-i <= maxBefore; i-- {
		l := &r.lines[i]
		if r.inside[i] || l.kind != kindLast && l.kind != kindOther {
			break
		}
		if l.rule != nil && l.rule.Role == RoleRoot && l.kind == kindLast && l.level != levelWarning && l.level != levelInfo {
			return said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: i}, true
		}
	}
	return said{}, false
}

// crashedBefore is the line in which Python tells, with nothing but its stacks after it, of the signal that ended a process right before
// line to; -1 where there is none.
func (r *reader) crashedBefore(to int) int {
	for i := to - 1; i >= 0 && to-i <= backtrace; i-- {
		l := &r.lines[i]
		if l.says("Fatal Python error: ") {
			if l.contains("Segmentation fault", "Aborted", "Bus error", "Illegal instruction", "Floating") {
				return i
			}
			break
		}
		if !l.blank() && !indented(l.text) && l.kind != kindNoise {
			break
		}
	}
	return -1
}

// orphaned reports whether a chain is of a child of multiprocessing whose parent was gone before it had begun.
func (r *reader) orphaned(c *chain) bool {
	class := c.last().class
	return (class == "EOFError" || strings.HasSuffix(class, "UnpicklingError")) && r.through(c, "multiprocessing/spawn.py\", line") &&
		r.through(c, "in spawn_main") && len(c.frames) <= maxOrphan
}

const maxOrphan = 10 // lines of frames: it had not come to the program's own

// through reports whether one of the frames of a chain is in the file.
func (r *reader) through(c *chain, file string) bool {
	return slices.ContainsFunc(c.frames, func(i int) bool { return r.lines[i].contains(file) })
}

// judgeUnit judges one exception, or those of one group: there a transient one decides over a deterministic one.
func (r *reader) judgeUnit(unit []member) (best Match, at int, found bool) {
	for _, m := range unit {
		match, line, ok := r.judgeMember(m)
		if !ok {
			continue
		}
		if !found || best.Rule.Verdict == Fatal && match.Rule.Verdict != Fatal {
			best, at, found = match, line, true
		}
	}
	return best, at, found
}

// judgeMember judges one exception by the rules and, where none knows it, by its family.
func (r *reader) judgeMember(m member) (best Match, at int, found bool) {
	for _, i := range m.lines { // but what a shell says right after it
		if rule := r.lines[i].rule; rule != nil && rule.Role > RoleConfirm && rule.Name != endedRule && (!found || rule.Name != best.Rule.Name && r.rules.better(rule, &best.Rule)) {
			best, at, found = Match{Rule: *rule, Line: r.within(m, i)}, i, true
		}
	}
	if found || !r.rules.families {
		return best, at, found
	}
	var message []byte
	for n, i := range m.lines {
		text := r.lines[i].text
		if n == 0 {
			_, first, _ := exceptionHead(trimMargin(text))
			text = []byte(first)
		}
		message = append(append(message, text...), '\n')
		if len(message) > maxText {
			break
		}
	}
	if !r.meter.afford(familyPasses, min(len(message), maxMessageText)) {
		return Match{}, 0, false
	}
	if f := familyOf(m.class, message); f.known() {
		return Match{Rule: f.rule(), Line: r.telling(m, f)}, m.lines[0], true
	}
	return Match{}, 0, false
}
