package exitcodes

import (
	"strconv"
	"strings"

	"github.com/gangrun/gangrun/exitcodes/wording"
)

// say lets the worker's own words decide, as far as something knows them.
func (f Finding) say(w said, o Outcome) Finding {
	own := o.Status.Number()
	if w.known {
		f = f.apply(w, o)
		if len(w.words) > 0 {
			f.also("no rule explains it, but it has the words of a failure that passes: " + strings.Join(w.words, ", "))
		}
		if f.Other = w.other; w.other != "" && w.other != w.match.Line {
			f.also("the other candidate: " + clip(w.other))
		}
		return f
	}
	if w.exitedMinusOne(f.Signal, own) || f.Signal == 0 && w.program && w.ofFortran(own) {
		f.Verdict, f.Code, f.CodeOverridden = Fatal, CodeFor(Fatal, own), true
	} else if !w.ended && (f.Signal != 0 || own >= CodeNotExecutable) {
		if w.exception != "" && f.Signal == 0 && (w.program || own < CodeSignalBase || own > CodeSignalBase+sigmax) {
			f.Evidence = w.exception
			f.Message += ": " + clip(w.exception)
		} else if f.told == "" {
			f = f.deathTold(w.told)
		}
		return f
	}
	f.Unknown = true
	if w.exception != "" {
		f.Evidence = w.exception
		f.Message += ": " + clip(w.exception)
	}
	if f.Other = w.other; w.other != "" {
		f.also("the other candidate: " + clip(w.other))
	}
	if o.OnUnknown == UnknownRetry || o.OnUnknown == UnknownRetryAfterProgress && o.Progressed == Yes {
		f.Verdict, f.Code, f.CodeOverridden = Retry, CodeFor(Retry, own), true
		f.also(unexplained(w, o) + ", and " + o.OnUnknown.retries())
		return f
	}
	f.also(unexplained(w, o))
	return f
}

// Unseen is what a message says where the cause may have been in an output that gangrun could not read.
const Unseen = "gangrun did not see its output, since it had the terminal"

func unexplained(w said, o Outcome) string {
	if o.Unseen && w.exception == "" { // else its error file has told
		return Unseen
	}
	return "no rule explains it"
}

// ofFortran reports whether the words are those of an error of Intel's Fortran runtime, by whose number the process ended: some are
// above 128, and no signals.
func (s said) ofFortran(code int) bool {
	return strings.HasPrefix(s.exception, "forrtl: severe ("+strconv.Itoa(code)+"): ")
}

// exitedMinusOne reports whether a program has asked for the exit code -1, which is 255, after an exception of Java's about its own
// logic, or after an error whose words tell of what stays: no signal has that number.
func (s said) exitedMinusOne(signal, code int) bool {
	if signal != 0 || code != 255 || !s.unknown {
		return false
	}
	if strings.HasPrefix(s.exception, `Exception in thread "`) && !strings.HasPrefix(s.exception, `Exception in thread "main" `) {
		return false
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(s.exception, `Exception in thread "main" `), "Caused by: ")
	class, message, raised := raisedHead([]byte(rest))
	if inner, _, ok := wrapped([]byte(message)); class == "java.lang.RuntimeException" && ok {
		class = inner
	}
	name, ofJava := strings.CutPrefix(class, "java.lang.")
	return raised && ofJava && (isLogicError(name) || javaLinks[name]) || wording.Weigh(s.exception).Score < surelyStays && !ofOthers().MatchString(s.exception)
}

// surelyStays is how the words of an error weigh that stays without doubt.
const surelyStays = -4.5

// javaLinks are errors of a program in Java about how it was put together.
var javaLinks = set("NoSuchMethodError", "NoSuchFieldError", "ClassNotFoundException", "AbstractMethodError", "UnsupportedClassVersionError", "IncompatibleClassChangeError")

// progressed reports whether training had made a step, as far as it matters to a rule.
func (o Outcome) progressed(r *Rule, w said) bool {
	return o.Progressed == Yes || o.Progressed == Unknown && r.PrintedSteps && (w.trained || o.others != nil && o.others())
}

// apply lets a rule explain the end, and decide it where it has a verdict.
func (f Finding) apply(w said, o Outcome) Finding {
	r, own := w.match.Rule, o.Status.Number()
	f.Role, f.Rule, f.Evidence = r.Role, r.Name, w.match.Line
	if v := r.Verdict; v != "" {
		f.Verdict = v
	}
	if r.AfterProgress != "" && o.progressed(&r, w) {
		f.Verdict = r.AfterProgress
	}
	if f.Verdict == Fatal && r.Role < RoleRoot {
		f.Verdict = Retry // what may be the result of a failure elsewhere is never fatal
	}
	if r.Reason != "" {
		f.Reason = r.Reason
	}
	if f.Verdict == Fatal && w.ended {
		own = uncaught
	}
	if f.Code = CodeFor(f.Verdict, own); f.Verdict == Preempted {
		f.Code = CodeSignalBase + w.match.signal()
	}
	f.CodeOverridden = f.Code != own && f.Verdict != Preempted
	f.Message += ": " + clip(w.match.Line)
	return f
}

// outOfMemory says that the kernel killed for memory.
func (f Finding) outOfMemory(number int, kill string) Finding {
	f.Reason, f.Verdict, f.Evidence = ReasonOOMKilled, Retry, kill
	if f.Code = number; number < CodeSignalBase {
		f.Code = CodeSignalBase + sigkill // the code of the process that the kernel killed
	}
	f.Message += ": out of memory"
	return f
}

// unhealthy says that the GPU is broken, so that the job must run elsewhere.
func (f Finding) unhealthy(x Xid) Finding {
	f.Reason, f.Verdict, f.Code, f.NodeFault = ReasonNodeUnhealthy, Retry, CodeNodeUnhealthy, true
	f.Evidence = x.String()
	f.Message += ": the GPU driver reported " + f.Evidence
	return f
}

// also adds to the message, which may end in the full stop of somebody else's sentence.
func (f *Finding) also(more string) {
	if !strings.HasSuffix(f.Message, "..") {
		f.Message = strings.TrimSuffix(f.Message, ".")
	}
	f.Message += "; " + more
}
