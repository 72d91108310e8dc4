package exitcodes

import (
	"bytes"
	"slices"
	"time"
)

// finalException is the exception that ended the program: among those of several processes that share the output the strongest,
// then the earliest.
func (r *reader) finalException() (best said, found bool) {
	for _, c := range r.finalChains() {
		s := r.judgeStream(c)
		earlier := s.role() > best.role() || s.role() == best.role() && s.at < best.at
		if !found || s.causes(best) || earlier && !best.causes(s) {
			best, found = s, true
		}
	}
	return best, found
}

// looksUncaught reports whether a traceback begins where a process does. A program that catches an exception and prints
// it shows the frames from there on.
func (r *reader) looksUncaught(c *chain) bool {
	if c.own || len(c.frames) < 2 {
		return true
	}
	first := 1
	if r.lines[c.frames[1]].logged && len(c.frames) > 2 { // by a thread, in between
		first = 2
	}
	return r.fromOutside(c.frames[first]) || len(c.members) > 1 && r.fromOutside(c.head+1) // the traceback before begins where its exception was caught
}

// fromOutside reports whether line i is a frame in which a process begins.
func (r *reader) fromOutside(i int) bool {
	if i <= 0 || i >= len(r.lines) {
		return false
	}
	first := &r.lines[i]
	return first.contains(", in <module>", "_bootstrap", "_run_module_as_main") || first.says("File ") ||
		isRichBox(first.text) && first.contains(" in <module>")
}

// finalChains are the chains that may have ended a process, one for each tag: the last that was not survived.
func (r *reader) finalChains() []int {
	var final []int
	own := false
	for i := len(r.chains) - 1; i >= 0; i-- {
		c := &r.chains[i]
		if c.ignored || c.survived || i > 0 && i == len(r.chains)-1 && r.cutCopy(c, &r.chains[i-1]) {
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

// cutCopy reports whether the output ends within the message of chain c, which begins as the whole one before it does: that of another
// process, which says more.
func (r *reader) cutCopy(c, before *chain) bool {
	m, whole := c.last(), before.last()
	if before.ignored || before.survived || len(m.lines) > 1 || m.lines[0] < len(r.lines)-1 || m.class != whole.class {
		return false
	}
	cut, text := r.lines[m.lines[0]].text, r.lines[whole.lines[0]].text
	return len(cut) > len(m.class)+len(": ") && len(cut) < len(text) && bytes.HasPrefix(text, cut)
}

// uncaught weighs only the exceptions that nobody caught, of a worker that had not ended when it was stopped.
func (r *reader) uncaught() said {
	best, found := said{}, false
	for _, c := range r.finalChains() {
		ch := &r.chains[c]
		if r.goesOnAfter(ch) {
			continue
		}
		if s := r.judgeStream(c); !found || s.role() > best.role() {
			best, found = s, true
		}
	}
	return best
}

// goesOnAfter reports whether an exception was caught, or the program went on.
func (r *reader) goesOnAfter(c *chain) bool {
	return c.logged || c.warned || r.othersAfter(c.end, c.tag) && !c.own && !r.atOnce(c)
}

// together is how far apart two streams are read that were written at once.
const together = 50 * time.Millisecond

// atOnce reports whether an exception that looks uncaught is followed only by what came at the same time: what the other
// stream had brought just before.
func (r *reader) atOnce(c *chain) bool {
	end, last := r.lines[c.end].at, r.lines[len(r.lines)-1].at
	return !end.IsZero() && last.Sub(end) <= together && r.looksUncaught(c)
}
