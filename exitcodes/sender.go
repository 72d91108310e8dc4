package exitcodes

import "slices"

// sentBy finds, in what a process printed that died of a signal which somebody sends, the line of whoever says why it was sent: a
// scheduler, for memory, since the node is taken back, since the time is up; or the program itself, which was asked to end.
// The last one counts. Only a scheduler's limit that the job would reach again is fatal. Without one, told is the line that tells of the death itself.
func sentBy(o Outcome, rules *Rules, signal int) (w said, told string, found bool) {
	if len(o.Output) == 0 {
		return said{}, "", false
	}
	r := newReader(o, rules)
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		if l.rule == nil || l.kind == kindWork || !sends(l.rule) && !asks(l.rule) || r.gotOver(i) {
			continue
		}
		sent := said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: i}
		if sends(l.rule) && !r.inside[i] {
			return sent, "", true
		}
		if itself, raised := r.raisedItself(r.beginOf(i), sent); raised {
			return itself, "", true
		}
		if asks(l.rule) && !found {
			w, found = sent, true
		}
	}
	told = r.toldDeath(signal)
	if found && stopped([]byte(told), signal) { // whoever has sent it says more than who was asked
		w.match.Line = told
	}
	if found {
		return w, "", true
	}
	if w, found = r.kernelTold(told); found && signal == sigkill {
		return w, "", true
	}
	return said{}, told, false
}

// gotOver reports whether the program went on after line i, which says that it is to end. How long that takes does not tell.
func (r *reader) gotOver(i int) bool {
	l := &r.lines[i]
	if l.contains("*** JOB ") { // no job goes on after that, though its last steps may be printed later
		return false
	}
	if l.says("TERM_") { // LSF says it beneath the job's output
		return r.nextJob(i) || l.rule.Verdict == Fatal && r.workAfter(i, l.tag) > 0 // it was requeued
	}
	return l.kind == kindSurvived && (l.rule.Verdict != Preempted || r.workAfter(i, l.tag) > 0)
}

// nextJob reports whether LSF's report of another job in the same file begins after line i.
func (r *reader) nextJob(i int) bool {
	return slices.ContainsFunc(r.lines[i:], func(l line) bool { return l.says("Sender: LSF System", "# LSBATCH: ") })
}

// sends reports whether a rule is about whoever kills processes from outside.
func sends(rule *Rule) bool {
	if rule.Role < RoleRoot {
		return false
	}
	switch rule.Reason {
	case ReasonOOMKilled, ReasonPreempted, "NodeFailed", "Evicted", "LimitReached":
		return true
	}
	return false
}

// asks reports whether a rule is about a request to end.
func asks(rule *Rule) bool { return rule.Verdict == Preempted && rule.Role >= RoleSuspect }
