package exitcodes

import (
	"bytes"
	"slices"
	"sort"
	"strings"
)

// judgeStream judges the chain c and, where it only passes on what another process said, the one before it.
func (r *reader) judgeStream(c int) said {
	s := r.judgeChain(&r.chains[c])
	if s.known {
		if s.role() == RoleCascade {
			return r.echoed(c, s)
		}
		return s
	}
	l := &r.lines[s.at]
	if !l.is(traitEcho) {
		return s
	}
	if l.contains(readerThread, streamThread) {
		if t, found := r.threadOf(c); found {
			t.other = s.exception
			return t
		}
	}
	for i := c - 1; i >= 0; i-- {
		if before := &r.chains[i]; !before.ignored && !before.survived {
			if t := r.judgeChain(before); t.known || t.unknown {
				t.other = s.exception
				if t.known && t.role() == RoleCascade {
					return r.echoed(i, t)
				}
				return t
			}
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

// judgeChain weighs a chain: the exception that ended the program first; where nothing knows it, the nearest one before
// it that something knows. A transient one decides whatever the link; a deterministic one only as a cause.
func (r *reader) judgeChain(c *chain) said {
	final := said{at: c.last().lines[0], unknown: true, program: programs(c.last().class)}
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
			case caused && m.Rule.Verdict == Retry && s.role() > best.role(): // it names the cause of what is only an echo
				best = s
			}
			if best.match.Rule.Verdict == Fatal || best.role() == RoleRoot {
				return r.served(c, i, best)
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
		closed := transient("pipe", "ChildKilled", RoleCascade).rule()
		return said{match: Match{Rule: closed, Line: final.exception}, known: true, at: final.at}
	}
	return final
}

// grouped reports whether the chain is of an ExceptionGroup: its branches stand side by side, and pass nothing on.
func (c *chain) grouped() bool {
	return slices.ContainsFunc(c.members, func(m member) bool { return strings.HasSuffix(m.class, "ExceptionGroup") })
}

// pipeClosed reports whether a chain ends with the end of a pipe to another process of multiprocessing, which is gone.
func (r *reader) pipeClosed(c *chain) bool {
	return r.rules.families && c.last().class == "EOFError" && len(c.last().lines) == 1 &&
		(r.through(c, "multiprocessing/connection.py\"") || r.through(c, "multiprocessing/reduction.py\"") && r.through(c, "in recvfds"))
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

// served lets an exception before it in the chain explain one about a file: that it is missing, or forbidden, is doubted
// where the file server had failed before, since who cannot read says "absent" soon; and a checkpoint could not be written
// because the disk was full, where that had been said.
func (r *reader) served(c *chain, i int, late said) said {
	causes := causesOf(late.match.Rule.Reason)
	if causes == nil {
		return late
	}
	if m, at, ok := r.unreached(c, late); ok {
		return said{match: m, known: true, at: at, other: late.match.Line}
	}
	for _, m := range c.members[:i] {
		if match, at, ok := r.judgeMember(m); ok && slices.Contains(causes, match.Rule.Reason) {
			return said{match: match, known: true, at: at, other: late.match.Line}
		}
	}
	return late
}

// causesOf are the reasons that explain a reason which is only their effect on a file.
func causesOf(reason string) []string {
	switch reason {
	case "FileNotFound", "PermissionDenied":
		return []string{"StaleFileHandle", "InputOutputError"}
	case "CheckpointWriteFailed":
		return []string{"DiskFull", "DiskQuota"}
	}
	return nil
}

// unreached finds why a library has not found a file of which it gives the URL: its server had not answered right before. It
// had tried again, says so, and then calls the file absent.
func (r *reader) unreached(c *chain, late said) (Match, int, bool) {
	if late.match.Rule.Reason != "FileNotFound" || !strings.Contains(late.match.Line, "://") {
		return Match{}, 0, false
	}
	for i := c.begin - 1; i >= max(0, c.begin-maxBetween); i-- {
		l := &r.lines[i]
		if l.rule != nil && l.rule.Verdict == Retry && related(l.tag, c.tag) && !r.inside[i] {
			return Match{Rule: *l.rule, Line: l.shown()}, i, true
		}
	}
	return Match{}, 0, false
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
	for _, i := range m.lines {
		if rule := r.lines[i].rule; rule != nil && rule.Role > RoleConfirm && (!found || rule.Name != best.Rule.Name && r.rules.better(rule, &best.Rule)) {
			best, at, found = Match{Rule: *rule, Line: r.whole(m, i)}, i, true
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

// tfFrom is a head of TensorFlow's that only tells from where the error came.
var tfFrom = lazy(`: From /job:\w+/replica:\d+/task:\d+:$`)

// whole is line i of an exception, and TensorFlow's first error where the line only counts them, or tells from where.
func (r *reader) whole(m member, i int) string {
	text := r.lines[i].shown()
	next := slices.Index(m.lines, i) + 1
	if next < len(m.lines) && strings.Contains(text, "Error(s) in loading ") && strings.HasSuffix(text, ":") {
		return text + " " + r.lines[m.lines[next]].shown()
	}
	for next < len(m.lines) && (strings.HasSuffix(text, " root error(s) found.") || tfFrom().MatchString(text)) {
		text += " " + r.lines[m.lines[next]].shown()
		next++
	}
	return text
}

// telling is the head of an exception, and the line of its message by which its family is known, where the head says
// nothing of it.
func (r *reader) telling(m member, f family) string {
	text := r.head(m)
	for n, i := range m.lines[:min(len(m.lines), maxTelling)] {
		line := r.lines[i].text
		if n == 0 {
			_, first, _ := exceptionHead(trimMargin(line))
			line = []byte(first)
		}
		if !r.meter.afford(familyPasses, min(len(line), maxMessageText)) {
			return text
		}
		if g := familyOf(m.class, line); g.known() && g.name == f.name && g.reason == f.reason {
			if shown := r.lines[i].shown(); n > 0 && !strings.Contains(text, shown) {
				text += " " + shown
			}
			return text
		}
	}
	return text
}

const maxTelling = 6 // lines of a message in which the telling one is looked for

// head is the line that names an exception; gRPC tells its status in the lines behind it, TensorFlow what was wrong.
func (r *reader) head(m member) string {
	text := r.whole(m, m.lines[0])
	if strings.HasSuffix(text, "Graph execution error:") {
		for n, i := range m.lines {
			if n > 1 && r.lines[i].contains("[[{{node ") {
				for n--; n > 1 && bytes.HasPrefix(r.lines[m.lines[n]].text, []byte("\t")); n-- { // goes on what is before it
				}
				return text + " " + r.lines[m.lines[n]].shown()
			}
		}
	}
	_, message, _ := exceptionHead(trimMargin(r.lines[m.lines[0]].text))
	if strings.HasPrefix(m.class, "yaml.") && len(m.lines) > 1 { // it begins with what was being read
		return text + " " + r.lines[m.lines[1]].shown()
	}
	if message != "" && len(message) <= len("(429)") && len(m.lines) > 1 {
		return text + " " + r.lines[m.lines[1]].shown()
	}
	if message == "" && strings.HasSuffix(text, ":") || strings.HasSuffix(message, "...") || strings.HasSuffix(message, " raised:") { // it goes on on the next line
		for _, i := range m.lines[1:] {
			if l := &r.lines[i]; bytes.IndexByte(bytes.TrimSpace(l.text), ' ') > 0 {
				return text + " " + l.shown()
			}
		}
	}
	if !strings.HasSuffix(text, "terminated with:") {
		return text
	}
	for _, i := range m.lines[1:min(3, len(m.lines))] {
		text += " " + r.lines[i].shown()
	}
	return text
}

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
	for i := from; i < to; i++ {
		l := &r.lines[i]
		if r.inside[i] {
			continue
		}
		rule := l.rule
		switch {
		case rule != nil && len(rule.ExitCodes) > 0 && rule.Role > RoleConfirm:
		case l.kind == kindSurvived || l.kind == kindWork || l.level == levelInfo && !(rule != nil && rule.OnSuccess):
			continue
		case rule != nil && rule.Role > RoleConfirm:
		case r.rules.families && l.kind != kindNoise && (shellKilled(l.text) || l.is(traitSignal) && childKilled("", "", l.text, 1<<saysSignal).known()):
			f := transient("killed", "ChildKilled", RoleSuspect).rule()
			rule = &f
		case r.rules.families && !beside && l.kind != kindNoise && l.is(traitError) && r.meter.afford(familyPasses, min(len(l.text), maxMessageText)):
			rule = raisedAlone(l)
		default:
			rule = nil
		}
		if rule == nil {
			continue
		}
		if !found || r.rules.better(rule, &best.Rule) {
			best, at, found = Match{Rule: *rule, Line: r.withWhat(i)}, i, true
		}
	}
	return best, at, found
}

// raisedHead splits a line that names an exception, of Python or of another language, without a traceback.
func raisedHead(text []byte) (class, message string, ok bool) {
	if class, message, ok = exceptionHead(text); ok && looksRaised(class) {
		return class, message, true
	}
	if class, message, ok = reprHead(text); ok {
		return class, message, true
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
func raisedAlone(l *line) *Rule {
	class, message, ok := raisedHead(l.text)
	if !ok {
		return nil
	}
	f := familyOf(class, []byte(message))
	if !f.known() || f.verdict == Fatal {
		return nil
	}
	rule := f.rule()
	return &rule
}
