package exitcodes

// reclaimedBefore is the line in which the process, or its machine's agent, had said that it was told to stop, or that the machine is taken
// back, before what is known to be an echo or a suspicion: connections break when machines go.
func (r *reader) reclaimedBefore(s said) (said, bool) {
	if s.role() >= RoleRoot || s.match.Rule.Verdict != Retry {
		return s, false
	}
	for i := r.explainsFrom(s.at); i < min(s.at, len(r.lines)); i++ {
		l := &r.lines[i]
		if l.rule == nil || l.rule.Verdict != Preempted || l.rule.Role < RoleSuspect || l.rule.Name == interruptRule || l.rule.Name == endedRule ||
			l.kind != kindLast || r.inside[i] || !related(l.tag, r.lines[s.at].tag) {
			continue
		}
		return said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: i, other: s.match.Line}, true
	}
	return s, false
}
