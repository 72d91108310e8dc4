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
