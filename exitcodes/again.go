package exitcodes

import "slices"

// A file may hold several runs, one after the other: each begins with the same lines. What an earlier one had ended of says nothing of
// the last one, where that says something itself.

const (
	opening  = 6  // lines with which a run begins
	reopens  = 4  // of them that come again where another one does
	reopened = 12 // lines among which they do
)

// lastRun is the line with which the last of several runs begins; 0 where there is only one.
func (r *reader) lastRun() int {
	if len(r.chains) == 0 {
		return 0
	}
	var first []uint64
	for i := range r.lines[:r.chains[0].begin] {
		if l := &r.lines[i]; r.opens(i) {
			for _, shape := range first {
				if shape == l.shape { // which it says several times
					return 0
				}
			}
			if first = append(first, l.shape); len(first) == opening {
				break
			}
		}
	}
	if len(first) < opening {
		return 0
	}
	last, times := 0, 0
	for i := range r.lines {
		if r.lines[i].shape == first[0] && r.opens(i) && r.openedAgain(first, i) {
			if times++; times > 1 && i < r.chains[0].end { // several processes, side by side
				return 0
			}
			last = i
		}
	}
	if last < r.chains[0].end {
		return 0
	}
	return last
}

// passOver takes what was said of earlier runs for survived, where the last one has something to say.
func (r *reader) passOver() {
	from := max(r.lastRun(), r.lastRestart())
	tells := func(l line) bool { return l.kind == kindLast && !l.is(traitEcho) }
	if from == 0 || !slices.ContainsFunc(r.lines[from:], tells) {
		return
	}
	for i := range r.lines[:from] {
		if r.lines[i].kind == kindLast {
			r.lines[i].kind = kindSurvived
		}
	}
	for c := range r.chains {
		if r.chains[c].end < from {
			r.chains[c].survived, r.chains[c].ignored = true, true
		}
	}
}

// opens reports whether line i may be of a run's beginning.
func (r *reader) opens(i int) bool {
	l := &r.lines[i]
	return !r.inside[i] && !l.blank() && !indented(l.text) && !isHeader(l.text) && !l.is(traitNoise|traitEcho|traitError) && l.kind != kindWork && len(l.text) > 8
}

// openedAgain reports whether a run's first lines come again from line i on, in their order.
func (r *reader) openedAgain(first []uint64, i int) bool {
	n := 0
	for end := min(len(r.lines), i+reopened); i < end; i++ {
		for next := n; next < len(first); next++ {
			if r.lines[i].shape == first[next] {
				n = next + 1
				break
			}
		}
	}
	return n >= reopens
}

// lastRestart is the line in which a launcher or a script last says that it starts the program again; 0 where none does.
func (r *reader) lastRestart() int {
	for i := len(r.lines) - 1; i > 0; i-- {
		l := &r.lines[i]
		if !r.inside[i] && l.contains("estart", "ESTART", "elaunch", "equeue", "ttempt") && r.meter.afford(2, min(len(l.text), maxOutcome)) && restarts().Match(l.text[:min(len(l.text), maxOutcome)]) {
			return i
		}
	}
	return 0
}

var restarts = lazy(`(?i)^(?:\[[\w .:/-]{1,40}\] *)?[\W_]*(?:re-?starting\b|re-?launching\b|restart (?:attempt )?#?\d|starting attempt #?[2-9]|attempt #?[2-9]\d?(?: of |/)\d+\b|(?:job )?\d* ?requeued\b)|will restart worker group|restarting worker group`)
