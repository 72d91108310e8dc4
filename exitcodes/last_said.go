package exitcodes

import "github.com/gangrun/gangrun/exitcodes/wording"

// lastSaid judges the line with which the output ends, where nothing else was found: what names a condition that passes was what the
// process said last, however it is worded. Only what comes of the end itself may stand behind it.
func (r *reader) lastSaid() (said, bool) {
	if !r.rules.families || r.code <= 0 {
		return said{}, false
	}
	for i := len(r.lines) - 1; i >= 0 && len(r.lines)-i <= closing; i-- {
		l := &r.lines[i]
		if l.blank() || l.kind == kindNoise || l.is(traitNoise|traitEcho|traitBar) || besideTheRun(l) || r.tellsOutcome(l) {
			continue
		}
		if r.inside[i] || l.kind == kindWork || l.level == levelInfo || l.is(traitWithout|traitTracker) || l.contains("revious attempt", "irst attempt") || indented(l.text) || r.longBefore(i, len(r.lines)) {
			break
		}
		f := r.familyIn(string(l.text))
		return said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: i}, f.verdict == Retry || f.verdict == Preempted
	}
	return said{}, false
}

// lastByWords is the line with which the output ends, where none tells enough of the end to be shown, if its words are those of a
// failure that passes.
func (r *reader) lastByWords(s said) said {
	for i := len(r.lines) - 1; i >= 0 && !s.unknown && len(r.lines)-i <= closing; i-- {
		l := &r.lines[i]
		if l.blank() || !r.endsWith(i) {
			continue
		}
		r.meter.pass(1, min(len(l.text), wording.MaxText))
		if l.kind == kindOther && !indented(l.text) && !l.is(traitNoise|traitEcho) && prose(l.text) && wording.Weigh(l.shown()).Passes() {
			return said{exception: l.shown(), at: i, unknown: true, hint: true}
		}
		break
	}
	return s
}
