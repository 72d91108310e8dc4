package exitcodes

import (
	"slices"
	"strings"
)

// Who raises an exception last often only passes on what another had raised before: a launcher, a wrapper, a handler of the end itself.

// passesOnCommand reports whether the exception of chain c only passes on that a command has failed: "backend='inductor' raised:" and,
// below it, "CalledProcessError: Command '['/usr/bin/gcc', ...". What the command had said itself stands before.
func (r *reader) passesOnCommand(c int) bool {
	lines := r.chains[c].last().lines
	if len(lines) < 2 || !strings.HasSuffix(r.lines[lines[0]].shown(), " raised:") {
		return false
	}
	class, _, ok := exceptionHead(r.lines[lines[1]].text)
	return ok && ofCommand[lastName(class)]
}

// ofLauncher reports whether a traceback is a launcher's own, which ends of its children's failure: it names none, or only which command has
// failed.
func (r *reader) ofLauncher(c *chain) bool {
	if !c.cut && !ofCommand[lastName(c.last().class)] && !r.ofHorovodrun(c.last()) {
		return false
	}
	for _, i := range c.frames[:min(len(c.frames), maxHeadFrames)] {
		if r.lines[i].contains(launcherFrames...) {
			return true
		}
	}
	return false
}

// launcherTold is the signal of which a launcher's child has died by that launcher's own exception, where nobody says more.
func (r *reader) launcherTold() (said, bool) {
	for i := len(r.chains) - 1; i >= 0; i-- {
		c := &r.chains[i]
		at := c.last().lines[0]
		if l := &r.lines[at]; c.ignored && r.ofLauncher(c) && l.rule != nil && l.rule.Reason == "ChildKilled" && !r.othersAfter(c.end, c.tag) {
			return said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: at}, true
		}
	}
	return said{}, false
}

// ofHorovodrun reports whether horovodrun tells of the first process that exited, by a code that says nothing.
func (r *reader) ofHorovodrun(m *member) bool {
	return r.lines[m.lines[0]].contains("Horovod detected that one or more processes exited") &&
		!slices.ContainsFunc(m.lines, func(i int) bool { return shellCode().Match(r.lines[i].text) })
}

const maxHeadFrames = 8 // lines of a traceback in which a launcher's frames stand

// launcherFrames are parts of the places where launchers begin.
var launcherFrames = []string{`/bin/torchrun"`, `/bin/accelerate"`, `/bin/deepspeed"`, `/bin/horovodrun"`, `torch/distributed/run.py"`, `torch/distributed/launch.py"`, "accelerate/commands/", "deepspeed/launcher/"}

// passesOnBug reports whether an exception tells of a bug in another process.
func (r *reader) passesOnBug(m *member) bool {
	class, message, ok := exceptionHead(r.lines[m.lines[0]].text)
	return ok && passesOnBug(class, []byte(message))
}

// interruptedBefore is the exception by which somebody had stopped the program before it raised the one of chain c on its way out, s,
// which is no cause of its own.
func (r *reader) interruptedBefore(c int, s said) (said, bool) {
	if s.known && (s.role() == RoleRoot || s.match.Rule.Verdict == Preempted) || s.program {
		return s, false
	}
	for i := c - 1; i >= 0 && r.onlyNoise(r.chains[i].end+1, r.chains[i+1].begin); i-- {
		before := &r.chains[i]
		if !before.ignored && !before.survived && before.tag == r.chains[c].tag && interrupted(lastName(before.last().class)).known() && r.looksUncaught(before) {
			t := r.judgeChain(before)
			t.other = s.exception
			return t, true
		}
	}
	return s, false
}

// onlyNoise reports whether the lines from one to before another say nothing of the program.
func (r *reader) onlyNoise(from, to int) bool {
	for i := from; i < to; i++ {
		if l := &r.lines[i]; !l.blank() && l.kind != kindNoise && !l.is(traitNoise|traitEcho) && !besideTheRun(l) && !r.tellsOutcome(l) {
			return false
		}
	}
	return true
}

// cutLauncher reports whether the output ends in the traceback of chain c before it names an exception, and nothing but a launcher's words
// about its children lie between it and the one before: then it is that launcher's own.
func (r *reader) cutLauncher(c int) bool {
	if c == 0 || !r.chains[c].cut || r.chains[c-1].ignored || r.chains[c-1].survived {
		return false
	}
	told := false
	for i := r.chains[c-1].end + 1; i < r.chains[c].begin; i++ {
		l := &r.lines[i]
		if !l.blank() && !l.is(traitNoise|traitEcho) && (l.rule == nil || l.rule.Role != RoleNoise) {
			return false
		}
		told = told || l.is(traitEcho)
	}
	return told
}

// ofBug is the exception of the program itself that the one which ended it only passes on, as its direct cause.
func (r *reader) ofBug(c *chain, final said) said {
	for i := len(c.members) - 1; i > 0 && !programs(c.members[i].class) && c.members[i].link == linkCause; i-- {
		if m := c.members[i-1]; isLogicError(lastName(m.class)) {
			return said{exception: r.head(m), at: m.lines[0], unknown: true, program: true, other: final.exception}
		}
	}
	return final
}

// beforeExit is the chain without what was raised while the program was ending already, as it does where it handles an exception by
// SystemExit, or whoever had told it to stop: in handlers of its exit, of signals, in destructors.
func (c *chain) beforeExit() *chain {
	for i := range c.members {
		if i > 0 && strings.HasSuffix(c.members[i].class, "DeadlockDetectedException") { // by which Lightning passes on what another rank, or this one, raised
			before := *c
			before.members = c.members[:i]
			return &before
		}
		if i+1 == len(c.members) {
			break
		}
		if interrupted(lastName(c.members[i].class)).known() && c.members[i+1].link == linkContext {
			before := *c
			before.members = c.members[:i+1]
			return &before
		}
		if i > 0 && c.members[i].class == "SystemExit" && c.members[i+1].link == linkContext {
			before := *c
			before.members = c.members[:i]
			return &before
		}
	}
	return c
}
