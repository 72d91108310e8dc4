package exitcodes

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"
)

// reader reads the output of one process as an engineer does: what ended it, what it had got over before, and what is
// only the noise of the end.
type reader struct {
	rules  *Rules
	code   int // exit code, -1 for a death by signal
	lines  []line
	chains []chain
	inside []bool           // lines that belong to a chain
	work   map[origin][]int // where work was done
	bars   []int            // progress bars
	end    time.Time        // of the process; zero when not known
	flush  int              // from this line on, what came may be what was buffered until the end
	meter  *meter
}

const (
	longAgo  = time.Minute     // what is older, and followed by other lines, was survived
	burst    = 2 * time.Second // what a program writes at its end
	echoes   = 5 * time.Second // how long after a failure its echo comes
	manyWork = 10              // lines of work that overrule even an exception nobody caught, as after torchrun's own restart
	manyBars = 5               // a progress bar is drawn once more at the end
	fresh    = 50              // lines before an exception that may still explain it
)

// origin is whose a line is, and by which stream it came.
type origin struct {
	tag    string
	stream int
}

// atTheEnd is how shortly before a process's end it writes what it had buffered. Python's standard output is, unless it goes
// to a terminal: the last lines of a training loop come after the traceback that ended it, which standard error does not
// keep back.
const atTheEnd = 500 * time.Millisecond

// newReader reads o's output.
func newReader(o Outcome, rules *Rules) *reader {
	r := &reader{rules: rules, code: o.Status.Code, end: o.At, work: map[origin][]int{}, meter: o.meter}
	if r.meter == nil {
		r.meter = newMeter(len(o.Output))
	}
	if o.Status.Signal != 0 {
		r.code = -1
	}
	r.lines = readLines(o.Output, o.Arrived, r.meter)
	if n := len(r.lines); n > 0 && (r.end.IsZero() || len(o.Arrived) == 0) {
		r.end = r.lines[n-1].at // the lines' own clock
	}
	r.flush = len(r.lines)
	for r.flush > 0 && len(o.Arrived) > 0 && r.end.Sub(r.lines[r.flush-1].at) < atTheEnd {
		r.flush--
	}
	r.findTraits()
	r.findChains()
	r.inside = make([]bool, len(r.lines))
	for _, c := range r.chains {
		for _, i := range c.frames {
			r.inside[i] = true
		}
		for _, m := range c.members {
			for _, i := range m.lines {
				r.inside[i] = true
			}
		}
	}
	r.matchRules()
	r.findWork(o.StepAt)
	r.mark()
	return r
}

// findTraits looks at the words of every line, once for each shape.
func (r *reader) findTraits() {
	known := map[uint64]trait{}
	for i := range r.lines {
		l := &r.lines[i]
		r.meter.pass(1, len(l.text))
		l.shape = shapeOf(l.text)
		key := l.shape ^ uint64(l.level)<<1
		if l.goesOn {
			key ^= 1
		}
		t, found := known[key]
		if !found {
			r.meter.pass(2, len(l.text))
			t = traitsOf(l)
			known[key] = t
		}
		l.traits = t
	}
}

func (l *line) is(t trait) bool { return l.traits&t != 0 }

// matchRules looks for the rule of each line, the last line first: what is printed at the end matters most, should the
// budget not last.
func (r *reader) matchRules() {
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		if quoted(l.text) && !isHeader(l.text) {
			continue
		}
		l.rule = r.rules.fit(l.text, r.code, r.meter)
		if l.rule == nil && r.rules.own > 0 && len(l.raw) != len(l.text) { // the user's may be about what stands before
			l.rule = r.rules.fit(clipped(l.raw), r.code, r.meter)
		}
	}
}

// findWork finds the lines that show that training went on: those whose shape had come twice before.
func (r *reader) findWork(stepAt time.Time) {
	seen := map[uint64]int{}
	for i := range r.lines {
		l := &r.lines[i]
		if r.inside[i] || l.rule != nil && l.rule.Role > RoleConfirm && len(l.rule.ExitCodes) == 0 {
			continue
		}
		if l.is(traitBar) {
			r.bars = append(r.bars, i)
			continue
		}
		if !l.is(traitWork) || l.is(traitNoise|traitEcho) {
			continue
		}
		if n := seen[l.shape]; n < 2 {
			seen[l.shape]++
			continue
		}
		l.kind = kindWork
		from := origin{l.tag, l.stream}
		r.work[from] = append(r.work[from], i)
	}
	if stepAt.IsZero() {
		return
	}
	for i := len(r.lines) - 1; i >= 0; i-- { // a reported step is work, wherever it fell
		if at := r.lines[i].at; !at.IsZero() && !at.After(stepAt) {
			if !r.inside[i] {
				r.work[origin{}] = append(r.work[origin{}], i)
				slices.Sort(r.work[origin{}])
			}
			for c := range r.chains {
				if r.chains[c].end <= i {
					r.chains[c].logged, r.chains[c].warned = true, true
				}
			}
			break
		}
	}
}

// related reports whether two tags may belong to one process: a line without a tag may be anybody's.
func related(a, b string) bool {
	return a == b || a == "" || b == "" || strings.HasPrefix(a, b+" ") || strings.HasPrefix(b, a+" ")
}

// workAfter is how many lines of work came after line i from those whom the tag may mean.
func (r *reader) workAfter(i int, tag string) int {
	n := 0
	for from, at := range r.work {
		if !related(from.tag, tag) {
			continue
		}
		last := len(at)
		if s := r.lines[i].stream; s != 0 && from.stream != 0 && s != from.stream {
			last = sort.SearchInts(at, r.flush)
		}
		n += max(0, last-sort.SearchInts(at, i+1))
	}
	return n
}

// survived reports whether the program went on after line i.
func (r *reader) survived(i int, tag string, own bool) bool {
	most := 1
	if own {
		most = manyWork
	}
	if r.workAfter(i, tag) >= most {
		return true
	}
	if !own && len(r.bars) >= manyBars && r.bars[len(r.bars)-manyBars] > i {
		return true
	}
	at := r.lines[i].at
	return !at.IsZero() && r.end.Sub(at) > longAgo && !own && r.othersAfter(i, tag)
}

// othersAfter reports whether ordinary lines came after line i.
func (r *reader) othersAfter(i int, tag string) bool {
	for j := i + 1; j < len(r.lines) && j < i+200; j++ {
		l := &r.lines[j]
		if !r.inside[j] && l.kind != kindNoise && !l.is(traitNoise|traitEcho) && related(l.tag, tag) {
			return true
		}
	}
	return false
}

// mark says of every line what it is.
func (r *reader) mark() {
	for i := range r.lines {
		l := &r.lines[i]
		switch {
		case l.kind == kindWork:
		case l.rule != nil && l.rule.Role == RoleNoise || l.is(traitNoise) && !r.inside[i]:
			l.kind = kindNoise
		}
	}
	for c := range r.chains {
		ch := &r.chains[c]
		final := ch.last()
		if r.lines[final.lines[0]].is(traitTeardown) {
			ch.ignored = true
		}
		k := kindLast
		switch {
		case ch.ignored:
			k = kindNoise
		case ch.warned && (c+1 < len(r.chains) || r.othersAfter(ch.end, ch.tag)) || r.survived(ch.end, ch.tag, ch.own):
			k = kindSurvived
		}
		for i := ch.begin; i <= ch.end; i++ {
			if r.inside[i] && related(r.lines[i].tag, ch.tag) || i == ch.begin && ch.ignored {
				r.lines[i].kind = k
			}
		}
		ch.survived = k == kindSurvived
	}
	for i := range r.lines {
		l := &r.lines[i]
		if l.kind != kindOther || r.inside[i] {
			continue
		}
		if errorLine(l) {
			l.kind = kindLast
			if l.is(traitHandled) || l.level == levelWarning || r.survived(i, l.tag, false) {
				l.kind = kindSurvived
			}
		}
	}
}

// errorLine reports whether a line outside of a traceback tells of something that went wrong.
func errorLine(l *line) bool {
	return l.rule != nil && l.rule.Role > RoleNoise || l.level == levelError || l.is(traitError) || shellKilled(l.text)
}

// said is what the last words come to.
type said struct {
	match     Match
	known     bool
	exception string // what nobody knows
	other     string // the other candidate
	at        int    // line
	unknown   bool   // an exception or a line was found that no rule and no family knows
	program   bool   // and it speaks about the program itself

	accusations []string // lines that name other ranks
}

// lastWords weighs what was said at the end of a process that exited with a code.
func (r *reader) lastWords() said {
	if m, found := r.byCode(); found {
		return said{match: m, known: true, at: len(r.lines)}
	}
	best, found := said{}, false
	for _, c := range r.finalChains() {
		s := r.judgeStream(c)
		if !found || s.role() > best.role() || s.role() == best.role() && s.at < best.at {
			best, found = s, true
		}
	}
	if found && best.known {
		if s, ok := r.usersWord(best); ok {
			return s
		}
	}
	if found && best.known && best.role() < RoleRoot {
		return r.explained(best)
	}
	if found && (best.known || best.program) {
		return best
	}
	from, to := 0, len(r.lines)
	if found {
		from = r.explainsFrom(best.at)
	}
	if m, at, ok := r.loose(from, to, found); ok {
		other := best.exception
		return said{match: m, known: true, at: at, other: other}
	}
	if found {
		return best
	}
	if s, ok := r.buffered(); ok {
		return s
	}
	return r.unknownLine()
}

// buffered finds the exception that ended a program whose standard output came late: what Python has kept in its buffer
// is written after the traceback, and looks like work. Such an exception is uncaught by its frames, ends with 1, and
// nothing else speaks; where times are known, the work came in one burst.
func (r *reader) buffered() (said, bool) {
	if r.code != 1 {
		return said{}, false
	}
	for i := len(r.chains) - 1; i >= 0; i-- {
		c := &r.chains[i]
		if c.ignored {
			continue
		}
		if c.logged || c.warned || !r.looksUncaught(c) {
			return said{}, false
		}
		if a, b := r.lines[c.end].at, r.lines[len(r.lines)-1].at; !a.IsZero() && b.Sub(a) > burst {
			return said{}, false
		}
		return r.judgeStream(i), true
	}
	return said{}, false
}

// looksUncaught reports whether a traceback begins where a process does. Who catches an exception and prints it shows the
// frames from there on.
func (r *reader) looksUncaught(c *chain) bool {
	if c.own || len(c.frames) < 2 {
		return true
	}
	first := &r.lines[c.frames[1]]
	return first.contains(", in <module>", "_bootstrap", "_run_module_as_main") || first.says("File ")
}

func (s said) role() Role {
	switch {
	case s.known:
		return s.match.Rule.Role
	case s.unknown:
		return RoleRoot
	}
	return RoleNone
}

// usersWord looks for a line beside the exception that a rule of the user's own calls a cause. Those come first.
func (r *reader) usersWord(s said) (said, bool) {
	if r.rules.own == 0 || r.rules.place(&s.match.Rule) < r.rules.own {
		return s, false
	}
	m, at, found := r.loose(r.explainsFrom(s.at), len(r.lines), true)
	if !found || r.rules.place(&m.Rule) >= r.rules.own || m.Rule.Role < s.role() {
		return s, false
	}
	return said{match: m, known: true, at: at, other: s.match.Line}, true
}

// explained looks, beside words that tell of somebody else's failure, for a line of the process itself that names the
// cause. It may explain, but never make fatal what would be tried again.
func (r *reader) explained(s said) said {
	m, at, found := r.loose(r.explainsFrom(s.at), len(r.lines), true)
	if !found || m.Rule.Role <= s.role() || m.Rule.Verdict == Fatal || m.Rule.Verdict == Preempted || r.lines[at].level == levelInfo {
		return s
	}
	return said{match: m, known: true, at: at, other: s.match.Line}
}

// byCode finds a rule that is about the exit code alone.
func (r *reader) byCode() (Match, bool) {
	for i := range r.rules.list {
		if rule := &r.rules.list[i]; rule.Pattern == nil && slices.Contains(rule.ExitCodes, r.code) {
			return Match{Rule: *rule, Line: exitCodeLine(r.code)}, true
		}
	}
	return Match{}, false
}

// finalChains are the chains that may have ended a process, one for each tag: the last that was not survived.
func (r *reader) finalChains() []int {
	var final []int
	own := false
	for i := len(r.chains) - 1; i >= 0; i-- {
		c := &r.chains[i]
		if c.ignored || c.survived {
			continue
		}
		if c.own && !own { // the hook tells whose end it was; what has no tag was caught, or is a launcher's echo
			own = true
			final = slices.DeleteFunc(final, func(j int) bool { return r.chains[j].tag == "" })
		}
		if own && c.tag == "" {
			continue
		}
		if !slices.ContainsFunc(final, func(j int) bool { return related(r.chains[j].tag, c.tag) && (r.chains[j].tag == "") == (c.tag == "") }) {
			final = append(final, i)
		}
	}
	return final
}

// judgeStream judges the chain c and, where it only passes on what another process said, the one before it.
func (r *reader) judgeStream(c int) said {
	s := r.judgeChain(&r.chains[c])
	if s.known {
		if s.role() == RoleCascade {
			return r.echoed(c, s)
		}
		return s
	}
	if l := &r.lines[s.at]; !l.is(traitEcho) {
		return s
	}
	for i := c - 1; i >= 0; i-- {
		if before := &r.chains[i]; !before.ignored && !before.survived {
			if t := r.judgeChain(before); t.known || t.unknown {
				t.other = s.exception
				return t
			}
		}
	}
	s.unknown, s.program = false, false
	return s
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
	final.exception = r.lines[final.at].shown()
	caused := true // the exception at hand caused what came after it
	var best said
	for i := len(c.members) - 1; i >= 0; {
		first := i
		for first > 0 && c.members[first].link == linkSibling {
			first--
		}
		if m, at, ok := r.judgeUnit(c.members[first : i+1]); ok && (caused || m.Rule.Verdict != Fatal) {
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
				return best
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
	return final
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
			best, at, found = Match{Rule: *rule, Line: r.lines[i].shown()}, i, true
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
		return Match{Rule: f.rule(), Line: r.head(m)}, m.lines[0], true
	}
	return Match{}, 0, false
}

// head is the line that names an exception; gRPC tells its status in the lines behind it.
func (r *reader) head(m member) string {
	text := r.lines[m.lines[0]].shown()
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
			best, at, found = Match{Rule: *rule, Line: l.shown()}, i, true
		}
	}
	return best, at, found
}

// raisedAlone judges an exception that stands without a traceback, as a program prints it that catches everything.
func raisedAlone(l *line) *Rule {
	class, message, ok := exceptionHead(l.text)
	if !ok || !looksRaised(class) {
		return nil
	}
	f := familyOf(class, []byte(message))
	if !f.known() || f.verdict == Fatal {
		return nil
	}
	rule := f.rule()
	return &rule
}

// uncaught weighs only the exceptions that nobody caught, of a worker that had not ended when it was stopped.
func (r *reader) uncaught() said {
	best, found := said{}, false
	for _, c := range r.finalChains() {
		if ch := &r.chains[c]; ch.logged || ch.warned || r.othersAfter(ch.end, ch.tag) && !ch.own {
			continue // it was caught, or the program went on
		}
		if s := r.judgeStream(c); !found || s.role() > best.role() {
			best, found = s, true
		}
	}
	return best
}

// accusations are the lines in which torch names the ranks that did not come.
func (r *reader) accusations() (lines []string) {
	for i := range r.lines {
		if l := &r.lines[i]; l.kind != kindSurvived && l.contains("but didn't join collective #") {
			lines = append(lines, l.shown())
		}
	}
	return lines
}

// unknownLine is the line that tells most where nothing is known: the last that names an exception or an error.
func (r *reader) unknownLine() said {
	for i := len(r.lines) - 1; i >= 0; i-- {
		if l := &r.lines[i]; l.kind == kindLast && !r.inside[i] && !l.is(traitEcho) {
			return said{exception: l.shown(), at: i, unknown: true}
		}
	}
	return said{at: len(r.lines)}
}

// crashWords weighs what was said before a death by a signal: a traceback only when nothing but noise lies between, and
// lines that are no exceptions of Python.
func (r *reader) crashWords() said {
	last := len(r.lines) - 1
	for last >= 0 && (r.lines[last].kind == kindNoise || r.lines[last].blank()) {
		last--
	}
	for i := len(r.chains) - 1; i >= 0 && last >= 0; i-- {
		c := &r.chains[i]
		if c.ignored || c.survived || c.logged {
			continue
		}
		if (c.end < last || !r.looksUncaught(c)) && !c.own {
			continue
		}
		if s := r.judgeChain(c); s.known {
			return s
		}
	}
	var best said
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
		if !best.known || r.rules.better(rule, &best.match.Rule) {
			best = said{match: Match{Rule: *rule, Line: l.shown()}, known: true, at: i}
		}
	}
	return best
}

// sortChains brings chains into the order in which they end.
func sortChains(list []chain) {
	slices.SortStableFunc(list, func(a, b chain) int { return cmp.Compare(a.end, b.end) })
}

// trimMargin takes off the edge that an ExceptionGroup draws.
func trimMargin(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '|' || text[0] == '+') {
		text = text[1:]
	}
	return text
}
