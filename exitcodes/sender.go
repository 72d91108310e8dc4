package exitcodes

// sentBy finds, in what a process printed that died of a signal which somebody sends, the line of a scheduler that says why it
// was sent: out of memory, the node is taken back, the time is up. The last one counts. It makes nothing fatal.
func sentBy(o Outcome, rules *Rules) (said, bool) {
	if len(o.Output) == 0 {
		return said{}, false
	}
	r := newReader(o, rules)
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		if l.rule == nil || l.rule.Role < RoleRoot || r.inside[i] || l.kind == kindSurvived || !sends(l.rule.Reason) || l.rule.Verdict == Fatal {
			continue
		}
		return said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: i}, true
	}
	return said{}, false
}

// sends reports whether a reason is that of whoever kills processes from outside.
func sends(reason string) bool {
	switch reason {
	case ReasonOOMKilled, ReasonPreempted, "NodeFailed":
		return true
	}
	return false
}
