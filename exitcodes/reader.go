package exitcodes

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
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

	arrived bool // the times of the lines are those of their arrival
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
	r := &reader{rules: rules, code: o.Status.Code, work: map[origin][]int{}, meter: o.meter}
	r.end, r.arrived = cmp.Or(o.died, o.At), slices.ContainsFunc(o.Arrived, func(a Arrival) bool { return !a.At.IsZero() })
	if r.meter == nil {
		r.meter = newMeter(len(o.Output))
	}
	if o.Status.Signal != 0 {
		r.code = -1
	}
	r.readLines(o)
	if n := len(r.lines); n > 0 && (r.end.IsZero() || !r.arrived) {
		r.end = r.lines[n-1].at // the lines' own clock
	}
	r.flush = len(r.lines)
	for r.flush > 0 && r.arrived && r.end.Sub(r.lines[r.flush-1].at) < atTheEnd {
		r.flush--
	}
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

// readLines reads o's lines, and what the words of each tell by themselves: once for all judgements that share a text.
func (r *reader) readLines(o Outcome) {
	if o.shared != nil && o.shared.lines != nil {
		r.lines = o.shared.lines
		stamp(r.lines, o.Arrived)
		return
	}
	r.lines = readLines(o.Output, r.meter)
	stamp(r.lines, o.Arrived)
	r.findTraits()
	r.findAdvice()
	if o.shared != nil {
		o.shared.lines = r.lines
	}
}

// findTraits looks at the words of every line, once for each shape.
func (r *reader) findTraits() {
	known, stack := map[uint64]trait{}, map[origin]bool{}
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
		if ofTracker(l, r.meter) {
			l.traits |= traitTracker
		}
		switch from := (origin{l.tag, l.stream}); {
		case l.says("Stacktrace:"):
			stack[from] = true
		case len(stack) == 0:
		case indent(l.text) == 0:
			delete(stack, from)
		case stack[from] && isJuliaFrame(l):
			l.traits |= traitNoise
		}
	}
}

func (l *line) is(t trait) bool { return l.traits&t != 0 }

// matchRules looks for the rule of each line, the last line first: what is printed at the end matters most, should the
// budget not last.
func (r *reader) matchRules() {
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		if l.mute || quoted(l.text) && !isHeader(l.text) {
			continue
		}
		var could, before bool
		l.rule, could = r.rules.fit(l.text, r.code, r.meter)
		if l.rule == nil && r.rules.own > 0 && len(l.raw) != len(l.text) { // the user's may be about what stands before
			l.rule, before = r.rules.fit(clipped(l.raw), r.code, r.meter)
		}
		l.mute = !could && !before
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
				if ch := &r.chains[c]; ch.end <= i && !r.justHooked(ch) {
					ch.logged, ch.warned = true, true
				}
			}
			break
		}
	}
}

// related reports whether two tags may belong to one process: a line without a tag may be anybody's.
func related(a, b string) bool {
	within := func(a, b string) bool { return len(a) > len(b) && a[len(b)] == ' ' && a[:len(b)] == b }
	return a == b || a == "" || b == "" || within(a, b) || within(b, a)
}

// workAfter is how many lines of work came after line i from those whom the tag may mean.
func (r *reader) workAfter(i int, tag string) int {
	n := 0
	for from, at := range r.work {
		if !related(from.tag, tag) {
			continue
		}
		last := len(at)
		if !sameStream(r.lines[i].stream, from.stream) {
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
		case l.rule != nil && l.rule.Role == RoleNoise || (l.is(traitNoise) || ignoredHeading(l)) && !r.inside[i]:
			l.kind = kindNoise
		}
	}
	for c := range r.chains {
		ch := &r.chains[c]
		final := ch.last()
		if r.lines[final.lines[0]].is(traitTeardown) || r.orphaned(ch) {
			ch.ignored = true
		}
		k := kindLast
		switch {
		case ch.ignored:
			k = kindNoise
		case ch.warned && (c+1 < len(r.chains) || !r.looksUncaught(ch) && r.othersAfter(ch.end, ch.tag)) || r.survived(ch.end, ch.tag, ch.own):
			k = kindSurvived
		}
		for i := ch.begin; i <= ch.end; i++ {
			if l := &r.lines[i]; r.inside[i] && related(l.tag, ch.tag) && sameStream(l.stream, ch.stream) || i == ch.begin && ch.ignored {
				r.lines[i].kind = k
			}
		}
		ch.survived = k == kindSurvived || ch.thread && r.longSurvived(ch)
	}
	for i := range r.lines {
		l := &r.lines[i]
		if l.kind != kindOther || r.inside[i] {
			continue
		}
		if errorLine(l) {
			l.kind = kindLast
			if (l.is(traitHandled) || l.level == levelWarning) && !r.gaveUp(l) || r.survived(i, l.tag, false) {
				l.kind = kindSurvived
			}
		}
	}
	r.markTrackers()
}

// markTrackers takes what an experiment tracker says of itself for survived where somebody else has said before what went wrong:
// trackers speak in threads and at the end of a process, after the words that it died of. What a wrapper says after a tracker
// comes of it.
func (r *reader) markTrackers() {
	said, next := false, 0
	for i := range r.lines {
		for ; next < len(r.chains) && r.chains[next].end < i; next++ {
			said = said || !r.chains[next].ignored && !r.chains[next].survived
		}
		l := &r.lines[i]
		if l.kind != kindLast || r.inside[i] {
			continue
		}
		if !l.is(traitTracker) {
			said = said || !l.is(traitNoise|traitEcho)
		} else if said && !endsProgram(l) {
			l.kind = kindSurvived
		}
	}
}

// endsProgram reports whether a tracker's line may be what a program ended of: an exception, or what a rule says is one.
func endsProgram(l *line) bool {
	class, _, named := exceptionHead(l.text)
	return named && looksRaised(class) || l.rule != nil && l.rule.EndsProgram
}

// longSurvived reports whether the program went on after one of its threads had ended of c.
func (r *reader) longSurvived(c *chain) bool {
	at, end := r.lines[c.end].at, r.end
	return r.survived(c.end, c.tag, false) || !at.IsZero() && end.Sub(at) > longAgo
}

// errorLine reports whether a line outside of a traceback tells of something that went wrong.
func errorLine(l *line) bool {
	return l.rule != nil && l.rule.Role > RoleNoise || l.level == levelError || l.is(traitError) || shellKilled(l.text)
}

// gaveUp reports whether the line is about the last of several tries, after which its program did not go on.
func (r *reader) gaveUp(l *line) bool {
	if l.is(traitWithout) {
		return false
	}
	return l.is(traitGaveUp) || r.lastTry(l)
}

// lastTry reports whether pip says so. What it says after it, of a package that is not there, comes of that. It is a number,
// so that lines of its shape may say something else.
func (r *reader) lastTry(l *line) bool {
	r.meter.pass(1, len(l.text))
	return l.contains("Retrying (Retry(total=0,") && bytes.HasPrefix(l.raw, []byte("WARNING: Retrying ("))
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
