package exitcodes

import "slices"

// takenDown finds, where nothing else is left of what was said, who ended the process: the watchdog of NCCL, after an operation that
// had failed or taken too long, or Slurm, the step. Slurm does that to the other tasks of one that failed, too, but then srun names
// that one, or it has said itself what went wrong.
func (r *reader) takenDown() (s said, found bool) {
	launcher := r.cutTraceback() // torchrun's own, where the output ends in it
	for i := min(launcher, len(r.lines)) - 1; i >= 0 && i >= len(r.lines)-fresh; i-- {
		l := &r.lines[i]
		var f family
		switch {
		case l.rule != nil && l.rule.Name == "noise.nccl_dup" && r.workAfter(i, l.tag) == 0:
			f = transient("collective", "CollectiveFailed", RoleCascade)
		case l.says("slurmstepd") && endedBySlurm(l) && r.workAfter(i, l.tag) < manyWork:
			f = family{name: "family.interrupt", verdict: Preempted, role: RoleSuspect, reason: ReasonPreempted, signal: sigterm}
		case l.contains("closing signal SIGHUP"): // which torchrun passes on when its terminal is gone
			f = family{name: "family.interrupt", verdict: Preempted, role: RoleSuspect, reason: ReasonPreempted, signal: sigterm}
		case l.says("failed (exitcode: "): // so does torchrun
		case r.inside[i], l.kind == kindLast, l.is(traitEcho) && !endedBySlurm(l):
			return said{}, false
		}
		if f.known() {
			s, found = said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: i}, true
		}
	}
	return s, found
}

// takenBack is the notice by which a machine was taken back, before an exception that only tells of a peer which is gone: the program had
// said in between that it was told to stop, and whom it had talked to was, too.
func (r *reader) takenBack(s said) (said, bool) {
	if s.role() != RoleCascade || s.match.Rule.Verdict != Retry {
		return s, false
	}
	begin := r.beginOf(s.at)
	for i := r.explainsFrom(s.at); i < begin; i++ {
		l := &r.lines[i]
		if l.rule == nil || l.rule.Name != "infra.reclaimed" || r.inside[i] {
			continue
		}
		if slices.ContainsFunc(r.lines[i+1:begin], func(l line) bool { return l.contains("signal 15", "SIGTERM", "sigterm") }) {
			return said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: i, other: s.match.Line}, true
		}
	}
	return s, false
}
