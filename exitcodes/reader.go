package exitcodes

import (
	"bytes"
	"cmp"
	"slices"
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

// stepLate is how much later than a line a step has to be reported to have come after it. Lines are read from pipes and
// reports from a socket, each when a processor is free for it; and beneath a launcher, other ranks still end the step in
// which one has failed.
const stepLate = 500 * time.Millisecond

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
	r.findEpilogue()
	r.findStacks()
	if o.shared != nil {
		o.shared.lines = r.lines
	}
}

// findTraits looks at the words of every line, once for each shape.
func (r *reader) findTraits() {
	known, stack := map[uint64]trait{}, map[origin]bool{}
	var frames matlab
	for i := range r.lines {
		l := &r.lines[i]
		r.meter.pass(1, len(l.text))
		l.shape = shapeOf(l.text)
		key := l.shape ^ uint64(l.level)<<1
		if l.goesOn {
			key ^= 1
		}
		if l.ofRuntime() {
			key ^= 1 << 8
		}
		t, found := known[key]
		if !found {
			r.meter.pass(2, len(l.text))
			t = traitsOf(l)
			known[key] = t
		}
		l.traits = t | frames.of(l)
		if ofTracker(l, r.meter) {
			l.traits |= traitTracker
		}
		switch from := (origin{l.tag, l.stream}); {
		case bytes.HasPrefix(bytes.TrimLeft(l.text, " "), []byte("Stacktrace:")):
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
		if l.mute || quoted(l.text) && !isHeader(l.text) && !bytes.HasPrefix(bytes.TrimLeft(l.text, " "), juliaTask) && (r.inside[i] || !isField(l.text)) && !r.underCode(i) {
			continue
		}
		var could, before bool
		l.rule, could = r.rules.fit(l.text, r.code, r.meter)
		if l.rule == nil && r.rules.own > 0 && len(l.raw) != len(l.text) { // the user's may be about what stands before
			l.rule, before = r.rules.fit(clipped(l.raw), r.code, r.meter)
		}
		l.mute = !could && !before
		l.rule = r.refused(i, r.thrown(i, l.rule))
	}
	r.findForbidden()
}

// findForbidden gives the line in which torch says that it could listen nowhere the rule of the lines before it, which tell why.
func (r *reader) findForbidden() {
	for i := range r.lines {
		if rule := r.lines[i].rule; rule == nil || rule.Name != "store.bind" {
			continue
		}
		for _, before := range r.lines[max(0, i-maxBefore):i] {
			if before.rule != nil && before.rule.Name == "store.forbidden" {
				r.lines[i].rule = before.rule
			}
		}
	}
}

// findWork finds the lines that show that training went on: those whose shape had come twice before.
func (r *reader) findWork(stepAt time.Time) {
	seen := map[uint64]int{}
	for i := range r.lines[:r.buildFailed()] {
		l := &r.lines[i]
		if r.inside[i] || l.rule != nil && (l.rule.Role > RoleConfirm || l.rule.Role == RoleNoise) && len(l.rule.ExitCodes) == 0 {
			continue
		}
		if l.is(traitBar) {
			r.bars = append(r.bars, i)
			continue
		}
		if !l.is(traitWork) || l.is(traitNoise|traitEcho) || l.is(traitError) && bytes.HasPrefix(bytes.TrimLeft(l.text, " "), []byte("Error ")) || isFrame(l.text) || i > 0 && isFrame(r.lines[i-1].text) {
			continue // frames without a traceback tell where something was called
		}
		if i > 0 && r.addsTo(&r.lines[i-1], l) {
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
	stepAt = stepAt.Add(-stepLate)
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

// addsTo reports whether a line is what the same library says beside the error in the line before it: both begin with its name.
func (r *reader) addsTo(before, l *line) bool {
	return before.is(traitError) && before.kind != kindWork && before.tag == l.tag && before.shape != l.shape && !ofTraining(l.text) &&
		bytes.IndexByte(l.text[:min(len(l.text), 40)], ':') > 0 && speaker(l.text) == speaker(before.text)
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
