package exitcodes

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
		case l.rule != nil && l.rule.Name == "elastic.death_signal" && r.workAfter(i, l.tag) == 0: // torchrun itself was told to stop
			s, found = said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: i}, true
		case l.contains("closing signal SIGHUP"): // which torchrun passes on when its terminal is gone
			f = family{name: "family.interrupt", verdict: Preempted, role: RoleSuspect, reason: ReasonPreempted, signal: sigterm}
		case l.says("failed (exitcode: "): // so does torchrun
		case r.inside[i] && l.kind != kindNoise, l.kind == kindLast, l.is(traitEcho) && !endedBySlurm(l):
			return said{}, false
		}
		if f.known() {
			s, found = said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: i}, true
		}
	}
	return s, found
}
