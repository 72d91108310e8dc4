package exitcodes

import "github.com/gangrun/gangrun/exitcodes/wording"

// weighed lets the words of the line decide that says most, where no rule and no family knows it: that the failure passes, if they
// are clearly those of one that does. Words make nothing fatal: without them the code does.
func (r *reader) weighed(s said) said {
	if !s.unknown || s.known || s.program || !r.rules.families || r.code >= CodeNotExecutable {
		return s
	}
	w := wording.Weigh(s.exception)
	if !w.Passes() {
		return s
	}
	f := transient("words", ReasonError, RoleSuspect)
	return said{match: Match{Rule: f.rule(), Line: s.exception}, known: true, at: s.at, other: s.other, words: w.Words}
}
