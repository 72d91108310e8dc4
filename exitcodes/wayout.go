package exitcodes

import (
	"strings"
	"time"
)

// An interpreter that goes down after an exception nobody caught runs destructors and waits for threads of libraries.
// Now and then one of those crashes: the process has died of a signal, and the exception is why. What was caught and
// printed before a crash of the program itself looks nearly the same. This file tells the two apart.

// uncaught is the exit code of an interpreter that has ended of an exception, whatever kills it on its way out.
const uncaught = 1

// wayOut is where a crash has left its traces: each the last line of its kind, -1 when there is none.
type wayOut struct {
	spoke  int // neither noise nor a shell's or launcher's word about this very death
	down   int // only an interpreter that goes down says it
	atWork int // of a stack dump that shows the program's own module: what crashed was still running
}

func (r *reader) findWayOut() wayOut {
	w := wayOut{-1, -1, -1}
	for i := range r.lines {
		l := &r.lines[i]
		if l.is(traitExit) {
			w.down = i
		}
		if isStackDump(l) && l.contains(" in <module>") {
			w.atWork = i
		}
	}
	shells := 0
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		if l.kind == kindNoise || l.is(traitEcho) || l.blank() || r.talksOfDeath(i) {
			continue
		}
		if shells++; shells > maxShells || !l.shellKilled() && !(i == len(r.lines)-1 && deathCut(l.text)) {
			w.spoke = i
			break
		}
	}
	return w
}

// deathCut reports whether the output ends within what a shell says of a death: "Segmentati".
func deathCut(text []byte) bool {
	return len(text) > 4 && (strings.HasPrefix("Segmentation fault (core dumped)", string(text)) || strings.HasPrefix("Aborted (core dumped)", string(text)))
}

const maxShells = 4 // one in the other, each with a word about the death

// endedBefore judges the exception of which the program had ended before a signal killed its process.
func (r *reader) endedBefore() (best said, found bool) {
	w := r.findWayOut()
	for _, i := range r.finalChains() {
		c := &r.chains[i]
		if c.logged || !r.endedOf(c, w) {
			continue
		}
		s := r.judgeStream(i)
		if s.known {
			s, _ = r.ownCause(s)
		}
		if s.ended = s.known || s.unknown; s.ended && (!found || s.role() > best.role()) {
			best, found = s, true
		}
	}
	return best, found
}

// justHooked reports whether torch's hook spoke right before the end: a step that was reported since is another rank's.
func (r *reader) justHooked(c *chain) bool { return c.own && r.end.Sub(r.lines[c.end].at) <= echoes }

// endedOf reports whether the program ended of the exceptions in c, and the signal came after that: by the words of an
// interpreter that goes down, or without any other, and soon. A module at the program's top may catch what it prints, too, and
// crash a while later.
func (r *reader) endedOf(c *chain, w wayOut) bool {
	switch {
	case c.own: // torch's hook speaks when nobody has caught it
		return true
	case c.warned || !r.looksUncaught(c) || w.atWork > c.end:
		return false
	case w.down > c.end && r.libraryNext(c.end):
		return true
	}
	at := r.lines[c.end].at
	return w.spoke <= c.end && (at.IsZero() || r.end.Sub(at) <= echoes)
}

// libraryNext reports whether what came next after line i, but for noise, is a library's word: a program that went on
// says something of its own first.
func (r *reader) libraryNext(i int) bool {
	for _, l := range r.lines[i+1 : min(len(r.lines), i+1+fresh)] {
		if l.is(traitExit) || l.glog {
			return true
		}
		if l.kind != kindNoise && !l.blank() {
			return false
		}
	}
	return false
}

// wentOnSince reports whether the program went on after that time, in whole seconds: it reported a step, did work, or
// was found at it.
func (r *reader) wentOnSince(at, stepAt time.Time, crashed bool) bool {
	if i := r.findWayOut().atWork; i >= 0 && r.foundSince(at, r.lines[i].at, crashed) {
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

// foundSince reports whether a stack dump shows what the program did after that time. A program can be asked for one at
// any time; a crash prints its own, which counts from the record's second on, and where times are not known.
func (r *reader) foundSince(at, dumped time.Time, crashed bool) bool {
	switch {
	case at.IsZero() || !r.arrived:
		return crashed
	case crashed:
		return dumped.After(at)
	}
	return dumped.After(at.Add(time.Second))
}
