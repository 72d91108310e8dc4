package exitcodes

// commandTold is what a command had said right before an exception that names it, and tells only how it ended, where both are of what
// passes: "curl: (56) Recv failure" before an OSError about "curl -s -L https://…".
func (r *reader) commandTold(s said) (said, bool) {
	if s.match.Rule.Verdict != Retry || s.at >= len(r.lines) || !r.lines[s.at].is(traitEcho) {
		return s, false
	}
	begin := r.beginOf(s.at)
	for i := begin - 1; i >= 0 && begin-i <= maxBefore; i-- {
		l := &r.lines[i]
		if l.blank() {
			continue
		}
		who := speaker(l.text)
		if r.inside[i] || l.kind != kindLast || len(who) < 2 || !l.says(who+":") || !r.lines[s.at].contains(`"`+who+" ", "'"+who+" ", "'"+who+"'", "/"+who+" ", "/"+who+"'") {
			break
		}
		if l.rule != nil && l.rule.Verdict == Retry {
			return said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: i, other: s.match.Line}, true
		}
		if f := r.familyIn(string(l.text)); f.verdict == Retry {
			return said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: i, other: s.match.Line}, true
		}
	}
	return s, false
}
