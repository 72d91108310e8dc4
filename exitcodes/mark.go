package exitcodes

import (
	"bytes"
	"sort"
)

// related reports whether two tags may belong to one process: a line without a tag may be anybody's.
func related(a, b string) bool {
	within := func(a, b string) bool { return len(a) > len(b) && a[len(b)] == ' ' && a[:len(b)] == b }
	return a == b || a == "" || b == "" || within(a, b) || within(b, a)
}

// workAfter is how many lines of work came after line i from those whom the tag may mean.
func (r *reader) workAfter(i int, tag string) int {
	n := 0
	for from, at := range r.work {
		if !related(from.tag, tag) {
			continue
		}
		last := len(at)
		if !sameStream(r.lines[i].stream, from.stream) {
			last = sort.SearchInts(at, r.flush)
		}
		n += max(0, last-sort.SearchInts(at, i+1))
	}
	return n
}

// stepEnded reports whether srun says after line i that it ends the step, or slurmstepd by then that it is ended: a little of what was
// in buffers comes later.
func (r *reader) stepEnded(i int) bool {
	for j := i; j < len(r.lines) && j < i+200; j++ {
		if l := &r.lines[j]; j > i && l.says("srun: Job step aborted", "srun: Terminating ") || l.says("slurmstepd") && l.contains(" CANCELLED AT ") {
			return true
		}
	}
	return false
}

// survived reports whether the program went on after line i.
func (r *reader) survived(i int, tag string, own bool) bool {
	most := 1
	if own {
		most = manyWork
	}
	if worked := r.workAfter(i, tag); worked >= most && (worked >= manyWork || !r.stepEnded(i)) {
		return true
	}
	if !own && len(r.bars) >= manyBars && r.bars[len(r.bars)-manyBars] > i {
		return true
	}
	at := r.lines[i].at
	return !at.IsZero() && r.end.Sub(at) > longAgo && !own && r.othersAfter(i, tag)
}

// othersAfter reports whether ordinary lines came after line i.
func (r *reader) othersAfter(i int, tag string) bool {
	for j := i + 1; j < len(r.lines) && j < i+200; j++ {
		l := &r.lines[j]
		if !r.inside[j] && l.kind != kindNoise && !l.is(traitNoise|traitEcho) && related(l.tag, tag) && !besideTheRun(l) && !r.tellsOutcome(l) {
			return true
		}
	}
	return false
}

// mark says of every line what it is.
func (r *reader) mark() {
	for i := range r.lines {
		l := &r.lines[i]
		switch {
		case l.kind == kindWork:
		case l.rule != nil && l.rule.Role == RoleNoise || (l.is(traitNoise) || ignoredHeading(l)) && !r.inside[i]:
			l.kind = kindNoise
		case i > 0 && !r.inside[i] && namesRaised(l.text) && ignoredHeading(&r.lines[i-1]): // without a traceback
			l.kind, l.rule = kindNoise, nil
		}
	}
	last := -1 // chain that counts
	for c := range r.chains {
		ch := &r.chains[c]
		if r.lines[ch.last().lines[0]].is(traitTeardown) || r.orphaned(ch) || r.ofLauncher(ch) {
			ch.ignored = true
		}
		if !ch.ignored {
			last = c
		}
	}
	for c := range r.chains {
		ch := &r.chains[c]
		k := kindLast
		switch {
		case ch.ignored:
			k = kindNoise
		case ch.warned && (c < last || !r.looksUncaught(ch) && r.othersAfter(ch.end, ch.tag)) || r.survived(ch.end, ch.tag, ch.own):
			k = kindSurvived
		}
		for i := ch.begin; i <= ch.end; i++ {
			if l := &r.lines[i]; r.inside[i] && related(l.tag, ch.tag) && sameStream(l.stream, ch.stream) || i == ch.begin && ch.ignored {
				r.lines[i].kind = k
			}
		}
		ch.survived = k == kindSurvived || ch.thread && r.longSurvived(ch)
	}
	r.ignoreLeftBehind()
	for i := range r.lines {
		l := &r.lines[i]
		if l.kind != kindOther || r.inside[i] {
			continue
		}
		if errorLine(l) {
			l.kind = kindLast
			if (l.is(traitHandled) || l.level == levelWarning) && !r.gaveUp(l) || r.survived(i, l.tag, false) {
				l.kind = kindSurvived
			}
		}
	}
	r.passOver()
	r.passOverOptional()
	r.markTrackers()
}

// markTrackers takes what an experiment tracker says of itself for survived where somebody else has said before what went wrong:
// trackers speak in threads and at the end of a process, after the words that it died of. What a wrapper says after a tracker
// comes of it.
func (r *reader) markTrackers() {
	said, next := false, 0
	for i := range r.lines {
		for ; next < len(r.chains) && r.chains[next].end < i; next++ {
			said = said || !r.chains[next].ignored && !r.chains[next].survived
		}
		l := &r.lines[i]
		if l.kind != kindLast || r.inside[i] {
			continue
		}
		if !l.is(traitTracker) {
			said = said || !l.is(traitNoise|traitEcho)
		} else if said && !endsProgram(l) {
			l.kind = kindSurvived
		}
	}
}

// endsProgram reports whether a tracker's line may be what a program ended of: an exception, or what a rule says is one.
func endsProgram(l *line) bool {
	class, _, named := exceptionHead(l.text)
	return named && looksRaised(class) || l.rule != nil && l.rule.EndsProgram
}

// longSurvived reports whether the program went on after one of its threads had ended of c.
func (r *reader) longSurvived(c *chain) bool {
	at, end := r.lines[c.end].at, r.end
	return r.survived(c.end, c.tag, false) || !at.IsZero() && end.Sub(at) > longAgo
}

// errorLine reports whether a line outside of a traceback tells of something that went wrong.
func errorLine(l *line) bool {
	return l.rule != nil && l.rule.Role > RoleNoise || l.level == levelError || l.is(traitError) || l.shellKilled()
}

// opFailed begins what TensorFlow logs as a warning of an operation that fails: the error comes to the program as an exception.
const opFailed = "OP_REQUIRES failed at "

// ofOperation reports whether TensorFlow logs the line as a warning of an operation that fails; its first versions begin it with the
// status.
func ofOperation(l *line) bool {
	return l.says(opFailed) || l.glog && l.level == levelWarning && l.says(statuses...) && bytes.Contains(l.raw[:max(0, len(l.raw)-len(l.text))], []byte("framework/op_kernel.cc:"))
}

var statuses = []string{"Aborted: ", "Deadline exceeded: ", "Failed precondition: ", "Internal: ", "Invalid argument: ", "Not found: ", "Permission denied: ", "Resource exhausted: ", "Unavailable: ", "Unimplemented: ", "Unknown: "}

// namesRaised reports whether a line begins with the name of an exception.
func namesRaised(text []byte) bool {
	class, _, ok := exceptionHead(text)
	return ok && looksRaised(class)
}

// gaveUp reports whether the line is about the last of several tries, after which its program did not go on, or about
// something else that it calls a warning, or got over, though it did not.
func (r *reader) gaveUp(l *line) bool {
	if l.fatal || ofOperation(l) || l.own && namesRaised(l.text) || l.rule != nil && (l.rule.Verdict == Preempted || l.rule.Name == "ray.dead") { // who is stopped warns of it
		return true
	}
	if l.is(traitWithout) {
		return false
	}
	return l.is(traitGaveUp) || r.lastTry(l)
}

// lastTry reports whether pip says so. What it says after it, of a package that is not there, comes of that. It is a number,
// so that lines of its shape may say something else.
func (r *reader) lastTry(l *line) bool {
	r.meter.pass(1, len(l.text))
	return l.contains("Retrying (Retry(total=0,") && (bytes.Contains(clipped(l.raw), []byte("WARNING: Retrying (")) || bytes.HasPrefix(bytes.TrimSpace(l.raw), []byte("Retrying (")))
}
