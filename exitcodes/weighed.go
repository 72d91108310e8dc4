package exitcodes

import (
	"bytes"
	"strings"

	"github.com/gangrun/gangrun/exitcodes/wording"
)

// weighed lets the words of the line decide that tells most, where no rule and no family knows it: that the failure passes, if they
// are clearly those of one that does. Words make nothing fatal: without them the code does.
func (r *reader) weighed(s said) said {
	if !s.unknown || s.known || s.program || s.hint && !r.endsWith(s.at) || !r.rules.families || r.code >= CodeNotExecutable {
		return s
	}
	if s.at < len(r.lines) && (r.lines[s.at].is(traitEcho) || r.tellsOutcome(&r.lines[s.at])) {
		return s
	}
	if f := r.familyIn(s.exception); f.known() && f.verdict == Fatal { // it stays, though such a line makes nothing fatal either
		return s
	}
	w := wording.Weigh(s.exception)
	if _, _, raised := raisedHead([]byte(s.exception)); !w.Passes() || listed(s.exception) && (raised || w.Score < clearly) {
		return s
	}
	f := transient("words", ReasonError, RoleSuspect)
	return said{match: Match{Rule: f.rule(), Line: s.exception}, known: true, at: s.at, other: s.other, words: w.Words}
}

// clearly is the least score of a line that names a condition of an official list, none of which passes.
const clearly = 3

// endsWith reports whether line i is what the process said last, and no information.
func (r *reader) endsWith(i int) bool {
	for j := len(r.lines) - 1; j > i; j-- {
		if l := &r.lines[j]; !l.blank() && l.kind != kindNoise && !l.is(traitNoise|traitEcho|traitBar) && !r.tellsOutcome(l) {
			return false
		}
	}
	return r.lines[i].level != levelInfo
}

// familyIn is the family of what a text says, or of the exception that it names.
func (r *reader) familyIn(text string) family {
	message := []byte(text)
	if !r.meter.afford(familyPasses, min(len(message), maxMessageText)) {
		return family{}
	}
	class, rest, raised := raisedHead(message)
	if raised {
		message = []byte(rest)
	}
	return familyOf(class, message)
}

// listed reports whether a text names a condition by an official list's number or name: an errno, a status, the code of a service, of
// curl, or the exception that it wraps. The families read these lists, so what none of them knows as passing does not pass by other words.
func listed(text string) bool {
	message := []byte(text[:min(len(text), maxMessageText)])
	h := phrases.in(bytes.ToLower(message))
	outer, inner, ok := raisedHead(message)
	if ok {
		message = []byte(inner)
	}
	wraps, _, ok := wrapped(message)
	switch {
	case ok && isLogicError(lastName(wraps)), ofCommand[lastName(outer)]:
		return true
	case h.any(saysStays), h.any(saysUnfit), h.any(saysErrnoName), h.any(saysCurl), h.any(saysCancelled):
		return true
	case h.any(saysErrno) && (errnoPattern().Match(message) || windowsPattern().Match(message)):
		return true
	}
	return h.any(saysCode) && serviceCodePattern().Match(message) || statusPattern().Match(message) || listedState(message)
}

// saysStays are conditions that stay as they are, though their words are not far from those of some that pass: a solver that does not
// come to an end with the same numbers, and what the C library calls errors that do not pass.
var saysStays = phrases.list("converge", "diverged_", "solver", "response code said error", ": permission denied", ": operation not permitted", ": no such file or directory", ": not a directory", ": is a directory",
	": no space left on device", ": disk quota exceeded", ": file exists", ": file name too long", ": exec format error", ": argument list too long",
	": too many levels of symbolic links", ": bad file descriptor", ": cross-device link", ": function not implemented", ": operation not supported", "unsatisfiedlinkerror", "noclassdeffounderror", "classnotfoundexception", "nosuchmethoderror", "check your configuration", "closed session", "model loading error")

// saysCancelled is what Spark says of a job that somebody has cancelled. Who has, and why, it does not say.
var saysCancelled = phrases.list("cancelled part of cancelled job group", "cancelled as part of cancellation of all jobs")

// listedState reports whether a text names a status of gRPC that says something: INTERNAL and UNKNOWN do not.
func listedState(message []byte) bool {
	m := rpcPattern().FindSubmatch(message)
	if m == nil {
		return false
	}
	state := string(bytes.ToUpper(bytes.Join(m[1:], nil)))
	return len(m[1]) > 0 || state != "INTERNAL" && state != "UNKNOWN"
}

// ofCommand are exceptions that tell only which command has failed: what it said itself stands before them.
var ofCommand = set("CalledProcessError", "ChildFailedError", "ProcessRaisedException", "SubprocessError")

// lastName is a class without its module.
func lastName(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }
