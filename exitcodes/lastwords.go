package exitcodes

import (
	"slices"
	"strconv"
	"strings"
)

// said is what the last words come to.
type said struct {
	match     Match
	known     bool
	exception string // one that is unknown
	other     string // the other candidate
	at        int    // line
	unknown   bool   // an exception or a line was found that no rule and no family knows
	program   bool   // and it speaks about the program itself
	ended     bool   // the program had ended of this exception when a signal killed the interpreter on its way out

	hint        bool     // the line tells of no error by itself: it is shown, and no more
	words       []string // by which the line was judged, where nothing else knew it
	told        string   // nothing is known, but this line tells how it crashed, or that it did
	accusations []string // lines that name other ranks
	trained     bool     // the output shows steps of the training
}

// lastWords weighs what was said at the end of a process that exited with a code. The order is that of docs/verdicts.md.
func (r *reader) lastWords() said {
	s := r.known()
	if s.known || s.program || r.code > CodeSignalBase && r.code <= CodeSignalBase+sigmax { // whoever died of a signal seldom says why
		return s
	}
	return r.lastByWords(r.mostTelling(s))
}

// known weighs what rules and families know.
func (r *reader) known() said {
	if m, found := r.byCode(); found {
		return said{match: m, known: true, at: len(r.lines)}
	}
	if s, found := r.misused(); found {
		return s
	}
	if s, found := r.endedInFortran(); found {
		return s
	}
	if raised, found := r.finalException(); found {
		return r.explained(raised)
	}
	for _, read := range []func() (said, bool){r.ruled, r.stackedKnown, r.buffered, r.tookLeave, r.notTransferred, r.stillTrying, r.notebook, r.lastWarned, r.lastThread, r.ncclWay, r.takenDown, r.lastCaught, r.lastSaid, r.launcherTold} {
		if s, found := read(); found {
			return s
		}
	}
	if s, found := r.stacked(len(r.lines), false); found {
		return s
	}
	return said{at: len(r.lines)}
}

// explained lets lines beside the exception that ended the program say more than it does.
func (r *reader) explained(raised said) said {
	if s, found := r.deviceGone(raised); found {
		return s
	}
	switch {
	case raised.known:
		for _, read := range []func(said) (said, bool){r.usersWord, r.toldToStop, r.reclaimedBefore, r.asserted, r.unguarded, r.commandTold, r.ownCause} {
			if s, found := read(raised); found {
				return s
			}
		}
		return raised
	case raised.program:
		return raised
	}
	m, at, found := r.loose(r.explainsFrom(raised.at), len(r.lines), raised.unknown)
	if found = found && !r.contested(m, at, true) && !r.missedLater(m, at, raised); !found && !raised.unknown { // it only points at what was said before
		m, at, found = r.parting(r.beginOf(raised.at))
	}
	if found {
		return said{match: m, known: true, at: at, other: raised.exception}
	}
	if s, found := r.stacked(r.beginOf(raised.at), true); found {
		s.other = raised.exception
		return s
	}
	return raised
}

// missedLater reports whether line i is what another rank says after an exception of which this one has ended: that it has waited for it
// in vain explains nothing. Nor does a collective that took too long by then, whoever says so.
func (r *reader) missedLater(m Match, i int, raised said) bool {
	if i <= raised.at || m.Rule.Role >= RoleRoot {
		return false
	}
	own, other := r.rankAt(raised.at), r.rankAt(i)
	if m.Rule.Reason == "NCCLTimeout" {
		return raised.unknown && !r.loggedAt(raised.at) || other >= 0 && own != other
	}
	return raised.unknown && own >= 0 && other >= 0 && own != other
}

// loggedAt reports whether a logger has written the exception that line i is of: its program may have caught it.
func (r *reader) loggedAt(i int) bool {
	return slices.ContainsFunc(r.chains, func(c chain) bool { return c.begin <= i && i <= c.end && c.logged })
}

// ruled finds the best of the lines that a rule knows.
func (r *reader) ruled() (said, bool) {
	m, at, found := r.loose(0, len(r.lines), false)
	s := said{match: m, known: true, at: at}
	if cause, told := r.unlinked(s); found && told {
		return cause, true
	}
	return s, found && !r.contested(m, at, false)
}

// tookLeave judges the lines with which the program took its leave.
func (r *reader) tookLeave() (said, bool) {
	m, at, found := r.parting(len(r.lines))
	return said{match: m, known: true, at: at}, found
}

// contested reports whether a line that only suspects that the machine was taken back stands beside an exception, or before
// another error: those are the program's own words. So is what Node.js throws after a connection that failed.
func (r *reader) contested(m Match, at int, raised bool) bool {
	reclaimed := m.Rule.Verdict == Preempted && m.Rule.Role <= RoleSuspect
	if m.Rule.Name == interruptRule { // what is said after that comes of it
		return raised
	}
	if m.Rule.Name == workerRule && r.masterEnded(at) || m.Rule.Name == "srun.killed" && r.leftByItself(at) {
		return true
	}
	if m.Rule.Name == endedRule && r.lines[at].contains(": line ") && r.erredBefore(at) { // a script ends its helpers when it fails
		return true
	}
	if !reclaimed && m.Rule.Name != "js.socket" || at+1 >= len(r.lines) {
		return reclaimed && raised
	}
	return reclaimed && raised || slices.ContainsFunc(r.lines[at+1:], func(l line) bool {
		if l.kind != kindLast || l.rule != nil && (l.rule.Name == m.Rule.Name || l.rule.Verdict == Preempted) || l.is(traitEcho) || l.says("slurmstepd: ") || besideTheRun(&l) || r.tellsOutcome(&l) {
			return false // nor what Slurm says of the end that it has brought
		}
		class, _, ok := exceptionHead(l.text)
		return reclaimed || indent(l.text) == 0 && ok && looksRaised(class)
	})
}

// erredBefore reports whether an error was told before line i that was not survived.
func (r *reader) erredBefore(i int) bool {
	return slices.ContainsFunc(r.lines[:i], func(l line) bool { return l.kind == kindLast && l.rule == nil && !l.is(traitEcho) })
}

// interruptRule is about a person who has stopped the program.
const interruptRule = "py.interrupted"

// beginOf is the first line of the chain that line i is of.
func (r *reader) beginOf(i int) int {
	for c := range r.chains {
		if ch := &r.chains[c]; ch.begin <= i && i <= ch.end {
			return ch.begin
		}
	}
	return i
}

// buffered finds the exception that ended a program whose standard output came late: what Python has kept in its buffer
// is written after the traceback, and looks like work. Such an exception is uncaught by its frames, exits with 1, and
// nothing else speaks; where times are known, the work came in one burst.
func (r *reader) buffered() (said, bool) {
	if r.code != 1 {
		return said{}, false
	}
	for i := len(r.chains) - 1; i >= 0; i-- {
		c := &r.chains[i]
		if c.ignored {
			continue
		}
		if c.logged || c.warned || !r.looksUncaught(c) {
			return said{}, false
		}
		if a, b := r.lines[c.end].at, r.lines[len(r.lines)-1].at; !a.IsZero() && b.Sub(a) > burst {
			return said{}, false
		}
		return r.judgeStream(i), true
	}
	return said{}, false
}

func (s said) role() Role {
	switch {
	case s.known:
		return s.match.Rule.Role
	case s.unknown:
		return RoleRoot
	}
	return RoleNone
}

// causes reports whether what is said tells why the checkpoint could not be written of which the other tells, perhaps on
// another rank: all ranks write to one place, but what they read may be anywhere.
func (s said) causes(other said) bool {
	return s.known && other.known && other.match.Rule.Reason == "CheckpointWriteFailed" && slices.Contains(causesOf(other.match.Rule.Reason), s.match.Rule.Reason)
}

// usersWord looks for a line beside the exception that a rule of the user's own calls a cause. Those come first.
func (r *reader) usersWord(s said) (said, bool) {
	if r.rules.own == 0 || r.rules.place(&s.match.Rule) < r.rules.own {
		return s, false
	}
	m, at, found := r.loose(r.explainsFrom(s.at), len(r.lines), true)
	if !found || r.rules.place(&m.Rule) >= r.rules.own || m.Rule.Role < s.role() {
		return s, false
	}
	return said{match: m, known: true, at: at, other: s.match.Line}, true
}

// ownCause looks, beside words that tell of somebody else's failure, for a line of the process itself that names the
// cause. It may explain, but never make fatal what would be tried again, unless the process itself had aborted what it now misses:
// its watchdog had said why.
func (r *reader) ownCause(s said) (said, bool) {
	if s.role() >= RoleRoot {
		return s, false
	}
	m, at, found := r.loose(r.explainsFrom(s.at), len(r.lines), true)
	aborted := s.match.Rule.Name == abortedRule
	// Of the same role, it says more than what only points at it. A shell's word about SIGTERM does not: a launcher ends the other ranks.
	more := m.Rule.Role > s.role() || m.Rule.Role == s.role() && at != s.at && s.at < len(r.lines) && r.lines[s.at].is(traitEcho)
	if !found || !more || r.missedLater(m, at, s) || m.Rule.Verdict == Fatal && !aborted || m.Rule.Verdict == Preempted && m.Rule.Role < RoleRoot || r.lines[at].level == levelInfo || m.Rule.Name == endedRule {
		return s, false
	}
	if aborted { // that is no other candidate
		return said{match: m, known: true, at: at}, true
	}
	return said{match: m, known: true, at: at, other: s.match.Line}, true
}

// toldToStop is the line in which whoever stopped the program says so, or in which it says that it was told to stop, before an exception
// that says nothing but its name.
func (r *reader) toldToStop(s said) (said, bool) {
	if s.match.Rule.Verdict != Preempted || strings.IndexByte(s.match.Line, ' ') >= 0 {
		return s, false
	}
	for i := r.explainsFrom(s.at); i < len(r.lines); i++ {
		if l := &r.lines[i]; l.rule != nil && l.rule.Verdict == Preempted && !r.inside[i] && l.rule.Name != interruptRule && l.rule.Role >= RoleSuspect {
			return said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: i}, true
		}
	}
	return s, false
}

// endedRule is about a shell that tells of a SIGTERM.
const endedRule = "shell.terminated"

// abortedRule is about a communicator that the process's own watchdog has aborted.
const abortedRule = "nccl.aborted"

// byCode finds a rule that is about the exit code alone.
func (r *reader) byCode() (Match, bool) {
	for i := range r.rules.list {
		if rule := &r.rules.list[i]; rule.Pattern == nil && slices.Contains(rule.ExitCodes, r.code) {
			return Match{Rule: *rule, Line: exitCodeLine(r.code)}, true
		}
	}
	return Match{}, false
}

// rankAt is the rank that the line carries as torch prints it, [rank3]; -1 when it carries none.
func (r *reader) rankAt(i int) int {
	if i >= len(r.lines) {
		return -1
	}
	for word := range strings.FieldsSeq(r.lines[i].tag) {
		if number, found := strings.CutPrefix(word, "rank"); found && digits(number) {
			n, _ := strconv.Atoi(number)
			return n
		}
	}
	return -1
}

// accusations are the lines in which torch or JAX names the ranks that did not come, or the other end of a connection.
func (r *reader) accusations() (lines []string) {
	for i := range r.lines {
		l := &r.lines[i]
		if l.is(traitNames) && (l.kind != kindSurvived || l.level == levelWarning && !r.survived(i, l.tag, false)) { // torch's store warns
			lines = append(lines, l.shown())
		}
	}
	return lines
}
