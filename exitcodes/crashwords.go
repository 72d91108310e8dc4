package exitcodes

import (
	"strings"

	"github.com/gangrun/gangrun/exitcodes/wording"
)

// crashWords weighs what was said before a death by a signal: the exception of which the program had ended by then, and
// lines that are no exceptions of Python.
func (r *reader) crashWords() said {
	if s, found := r.endedBefore(); found {
		return s
	}
	var best, raised, memory said // there being none may come of what was said before
	raisedLater := r.raisedLater()
	for i := range r.lines {
		l := &r.lines[i]
		rule := l.rule
		if r.inside[i] || rule == nil || rule.Role <= RoleConfirm || l.kind == kindSurvived || l.kind == kindWork ||
			l.level == levelInfo || l.level == levelWarning && rule.Verdict == Fatal {
			continue
		}
		if class, _, ok := exceptionHead(l.text); rule.Verdict == Fatal && ok && looksRaised(class) {
			continue
		}
		into := &best
		if rule.Name == "cxx.memory" {
			into = &memory
		} else if raisedLater[rule.Name] > i {
			into = &raised
		}
		if !into.known || r.rules.better(rule, &into.match.Rule) {
			*into = said{match: Match{Rule: *rule, Line: r.withWhat(i)}, known: true, at: i}
		}
	}
	if !best.known {
		best = raised
	}
	if best.known && best.match.Rule.Name != "cxx.terminate" && !best.childKilled() {
		return best
	}
	for _, read := range []func() (said, bool){r.failedCheck, r.abortedAfter} { // words about the death say less
		if s, found := read(); found {
			return s
		}
	}
	if memory.known {
		return memory
	}
	return best
}

// raisedLater are the rules that fit an exception which did not end the program, and the last line of each: what a library logged
// of it before had become that exception.
func (r *reader) raisedLater() map[string]int {
	last := map[string]int{}
	for i := range r.lines {
		if rule := r.lines[i].rule; rule != nil && r.inside[i] {
			last[rule.Name] = i
		}
	}
	return last
}

// thrown is the rule about an exception of C++ in line i that nobody caught: that of the condition which it names, where it
// passes, so that it does not pass for an echo or, with MXNet, for a failed check of the program: a device in a bad state, a
// lost peer, a port in use. It makes fatal what a library throws of what it was given, and a file or a directory that is not there or not
// to be opened.
func (r *reader) thrown(i int, rule *Rule) *Rule {
	if rule == nil || !r.rules.families || !r.lines[i].says(terminated) || i+1 >= len(r.lines) {
		return rule
	}
	what, found := strings.CutPrefix(r.lines[i+1].shown(), "what(): ")
	if next := r.lines[i+1].rule; next != nil {
		if found && rule.Name == "cxx.terminate" && next.Verdict == Fatal {
			return next
		}
		return rule
	}
	if !found && r.stateBefore(i) >= 0 {
		unknown := transient("check", ReasonError, RoleSuspect).rule()
		return &unknown
	}
	if !found || !r.meter.afford(familyPasses, min(len(what), maxMessageText)) {
		return rule
	}
	if f := familyOf("", []byte(strings.TrimSpace(what))); f.known() && f.verdict == Retry {
		named := f.rule()
		return &named
	}
	if strings.Contains(what, "Check failed: ") && checksState([]byte(what)) {
		unknown := transient("check", ReasonError, RoleSuspect).rule()
		return &unknown
	}
	if rule.Name == "cxx.terminate" && ownThrow(r.lines[i].shown(), what) {
		if check, known := r.checkRule(); known {
			return &check
		}
	}
	if r.lines[i].contains("filesystem_error'") && phrases.in([]byte(strings.ToLower(what))).any(saysStays) {
		missing := deterministic("errno", "FileNotFound").afterProgress().rule()
		return &missing
	}
	return rule
}

// stateBefore is the failed check of a state that MXNet logs, up to three lines before it throws dmlc::Error without words in line i; or
// -1 where the last check before was another one, or says what stays.
func (r *reader) stateBefore(i int) int {
	for j := i - 1; j >= 0 && i-j <= maxBefore && r.lines[i].contains("dmlc::Error"); j-- {
		if l := &r.lines[j]; l.contains("Check failed: ") {
			if text := l.text[:min(len(l.text), maxCheck)]; checksState(text) && !misfitPattern().Match(text) && !saysInvalid().Match(text) {
				return j
			}
			break
		}
	}
	return -1
}

var saysInvalid = lazy(`(?i)\b(?:invalid|at least|requires?)\b`)

// ownThrow reports whether what a program in C++ threw and did not catch is about what it was given, so that it comes again: some
// libraries have a class of exceptions for that. Most have one for everything, and only what it says may tell.
func ownThrow(head, what string) bool {
	_, class, _ := strings.Cut(head, terminated)
	if cannotDo().MatchString(what) && !strings.HasPrefix(class, "std::system_error'") && !passingWhat().MatchString(what) && !statePattern().MatchString(what) && !ofOthers().MatchString(what) && wording.Weigh(what).Score < -1 {
		return true // whatever the class
	}
	return checkThrow().MatchString(class) && !passingWhat().MatchString(what) && wording.Weigh(what).Score < 0 || strings.HasPrefix(class, "cv::Exception'") && openCV().MatchString(what)
}

// cannotDo is what a program says of what it cannot do with what it was given.
var cannotDo = lazy(`not implemented for |Error opening \w+ file at |\b[Ii]nvalid (?:line|syntax)\b|[a-z] is not supported\b|(?:shape|size|dimension|type|dtype)s? (?:mismatch|do(?:es)? not match)`)

// ofOthers names somebody or something beside the program, which may be another by the next time.
var ofOthers = lazy(`(?i)\b(?:worker|rank|peer|node|server|host|chip|member|leader|actor|message|replica|lease|token|session|executor|container|manager|attempt|expired|regist\w+|sync|response|upload|generation|slot|quota|clock|participant|process|device|gpu)(?:s|es)?\b|\bgot \d|\bIMDS\b`)

// passingWhat are words of such a class about what passes.
var passingWhat = lazy(`(?i)\b(?:rpc|alloc\w*|memory|connect\w*|time|timed|timeout|external|peer|rank|server|socket|nccl)\b`)

// openCV is what OpenCV throws of an argument, a size, an assertion, by its own numbers (modules/core/include/opencv2/core/base.hpp).
// Memory (-4), calls of a GPU (-217) and all else (-2) are none of these.
var openCV = lazy(`\berror: \(-(?:5|20\d|21[0-6])(?::[^)]*)?\) `)

// checkThrow are such classes: of Paddle's checks, of Xbyak, which assembles code.
var checkThrow = lazy(`^(?:Xbyak::Error|paddle::platform::EnforceNotMet|caffe2::EnforceNotMet)'`)

// refused is the rule about a container that was not started, but that of the condition which its line names where that passes.
func (r *reader) refused(i int, rule *Rule) *Rule {
	if rule == nil || rule.Reason != "ContainerNotStarted" || !r.rules.families || !r.meter.afford(familyPasses, min(len(r.lines[i].text), maxMessageText)) {
		return rule
	}
	if f := familyOf("", r.lines[i].text); f.known() && f.verdict == Retry {
		named := f.rule()
		return &named
	}
	return rule
}

const terminated = "terminate called after throwing an instance of '"

// withWhat is line i, and the next one where that tells what an exception of C++ says.
func (r *reader) withWhat(i int) string {
	text := r.lines[i].shown() + r.lastError(i)
	switch {
	case i+1 >= len(r.lines) || !r.lines[i].says(terminated):
	case strings.HasPrefix(r.lines[i+1].shown(), "what(): "):
		text += " " + r.lines[i+1].shown()
	default:
		if at := r.stateBefore(i); at >= 0 {
			return r.lines[at].shown()
		}
	}
	return text
}
