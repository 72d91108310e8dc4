package exitcodes

// kernelTold is the kernel's own line about the process that a shell says was killed, where the output has both: that it was for memory.
func (r *reader) kernelTold(shell string) (said, bool) {
	m := killedPID().FindStringSubmatch(shell[:min(len(shell), maxDeath)])
	if m == nil {
		return said{}, false
	}
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		if l.rule != nil && l.rule.Role == RoleConfirm && l.rule.Reason == ReasonOOMKilled && l.contains("Killed process "+m[1]+" (") {
			return said{match: Match{Rule: transient("killed", ReasonOOMKilled, RoleRoot).rule(), Line: l.shown()}, known: true, at: i, other: shell}, true
		}
	}
	return said{}, false
}

var killedPID = lazy(`: line \d+: +(\d+) Killed\b`)
