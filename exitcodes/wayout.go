package exitcodes

import "time"

// An interpreter that goes down after an exception nobody caught runs destructors and waits for threads of libraries. Now
// and then one of those crashes: the process has died of a signal, and the exception is why. What was caught and printed
// before a crash of the program itself looks nearly the same. This file tells the two apart.

// uncaught is the exit code of an interpreter that has ended of an exception, whatever kills it on its way out.
const uncaught = 1

// endedBefore judges the exception of which the program had ended before a signal killed its process.
func (r *reader) endedBefore() (best said, found bool) {
	for _, i := range r.finalChains() {
		c := &r.chains[i]
		if c.logged || !r.endedOf(c) {
			continue
		}
		s := r.judgeStream(i)
		if s.ended = s.known || s.unknown; s.ended && (!found || s.role() > best.role()) {
			best, found = s, true
		}
	}
	return best, found
}

// endedOf reports whether the program ended of the exceptions in c, and the signal came after that.
func (r *reader) endedOf(c *chain) bool {
	switch {
	case c.own: // torch's hook speaks when nobody has caught it
		return true
	case c.warned || !r.looksUncaught(c) || r.foundAtWork(c.end):
		return false
	case r.goesDown(c.end):
		return true
	}
	at := r.lines[c.end].at
	return r.onlyNoiseAfter(c.end) && (at.IsZero() || r.end.Sub(at) <= longAgo)
}

// onlyNoiseAfter reports whether nothing but noise, and a shell's or launcher's word about this very death, came after line i.
func (r *reader) onlyNoiseAfter(i int) bool {
	for i++; i < len(r.lines); i++ {
		if l := &r.lines[i]; l.kind != kindNoise && !l.is(traitEcho) && !l.blank() && !shellKilled(l.text) {
			return false
		}
	}
	return true
}

// goesDown reports whether what came next after line i is a library's word, and one of the words that follow is only said
// by an interpreter that goes down.
func (r *reader) goesDown(i int) bool {
	spoken := false
	for i++; i < len(r.lines); i++ {
		l := &r.lines[i]
		if l.is(traitExit) {
			return true
		}
		if spoken = spoken || l.glog; !spoken && !l.blank() && l.kind != kindNoise {
			return false // the program's own: it went on
		}
	}
	return false
}

// foundAtWork reports whether a stack dump after line i shows the program's own module: what crashed was still running.
func (r *reader) foundAtWork(i int) bool {
	for i++; i < len(r.lines); i++ {
		if l := &r.lines[i]; isStackDump(l) && l.contains(" in <module>") {
			return true
		}
	}
	return false
}

// wentOnSince reports whether the program went on after that time, in whole seconds: it reported a step, did work, or was
// found at it.
func (r *reader) wentOnSince(at, stepAt time.Time) bool {
	if r.foundAtWork(-1) {
		return true
	}
	if at.IsZero() {
		return false
	}
	at = at.Add(time.Second)
	if stepAt.After(at) {
		return true
	}
	for i := range r.flush { // what came later may have been in the buffer
		if l := &r.lines[i]; r.arrived && l.kind == kindWork && l.at.After(at) {
			return true
		}
	}
	return false
}
