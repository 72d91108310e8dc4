package exitcodes

import "strings"

// unguarded finds why children of multiprocessing were gone: each had run the program's main module again, which starts children itself
// and does not ask first whether it is the main module.
func (r *reader) unguarded(s said) (said, bool) {
	if s.match.Rule.Reason != "DataLoaderKilled" || !strings.Contains(s.match.Line, "exited unexpectedly") { // which no signal had ended
		return s, false
	}
	for i := max(0, s.at-backtrace); i < len(r.lines); i++ {
		if l := &r.lines[i]; l.kind != kindSurvived && r.meter.afford(1, len(l.text)) && l.contains("An attempt has been made to start a new process before the") {
			return said{match: Match{Rule: deterministic("child", "SpawnUnguarded").rule(), Line: l.shown()}, known: true, at: i, other: s.match.Line}, true
		}
	}
	return s, false
}
