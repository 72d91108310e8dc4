package exitcodes

import "bytes"

// lastThread is the exception of a thread after which nothing came but noise, of a program that ended with an ordinary code and
// said nothing else: most likely it ended for want of that thread. The traceback of what came of it may have been cut off.
func (r *reader) lastThread() (said, bool) {
	n := len(r.chains)
	if r.code >= CodeSignalBase || n == 0 || !r.chains[n-1].thread || r.chains[n-1].survived || r.spokeSince(r.chains[n-1].end) {
		return said{}, false
	}
	s := r.judgeChain(&r.chains[n-1])
	return s, s.known || s.unknown
}

// spokeSince reports whether anything was said after line i: no noise, and no traceback that names no exception.
func (r *reader) spokeSince(i int) bool {
	for j := i + 1; j < len(r.lines); j++ {
		l := &r.lines[j]
		if !l.blank() && l.kind != kindNoise && !indented(l.text) && !r.inside[j] && !isHeader(l.text) &&
			!bytes.HasPrefix(l.text, []byte(chainedContext)) && !bytes.HasPrefix(l.text, []byte(chainedCause)) {
			return true
		}
	}
	return false
}

// lastCaught is the last traceback of all, which looks survived, where hardly anything came after it and nothing else tells
// what went wrong: a program that logs it takes its leave, and the same leave before, in a file to which several runs have
// written, makes that look like work.
func (r *reader) lastCaught() (said, bool) {
	n := len(r.chains)
	if n == 0 || r.code >= CodeSignalBase || r.chains[n-1].warned {
		return said{}, false
	}
	c := &r.chains[n-1]
	logger := r.lines[c.begin].says("--- Logging error ---") && c.members[0].class == "OSError" // it could not write, so that is the last word
	if c.ignored && !logger {
		return said{}, false
	}
	after := 0
	for i := c.end + 1; i < len(r.lines); i++ {
		l := &r.lines[i]
		if l.blank() || l.kind == kindNoise && !l.is(traitBar) || besideTheRun(l) || r.inside[i] || logger && indented(l.text) {
			continue
		}
		if after++; after > leave || l.is(traitBar) || l.kind == kindLast {
			return said{}, false
		}
	}
	s := r.judgeChain(c)
	return s, s.known || s.unknown
}

const leave = 4 // lines with which a program that has caught an exception takes its leave
