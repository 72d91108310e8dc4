package exitcodes

import "strings"

// unlinked finds, where Spark has lost an executor that had ended of an exception of its own, what that one had said: that its classes do
// not fit together, or are not there, which stays so on any machine.
func (r *reader) unlinked(s said) (said, bool) {
	if s.match.Rule.Reason != "ChildKilled" || !r.uncaughtInExecutor(s.at) {
		return s, false
	}
	for i := r.beginOf(s.at) - 1; i >= r.explainsFrom(s.at); i-- {
		l := &r.lines[i]
		if l.kind != kindLast || l.is(traitEcho) {
			continue
		}
		if class, _, raised := raisedHead(l.text); raised && unlinks(lastName(class)) {
			return said{match: Match{Rule: deterministic("class", ReasonError).rule(), Line: l.shown()}, known: true, at: i, other: s.match.Line}, true
		}
	}
	return s, false
}

// uncaughtInExecutor reports whether the exception at line i says how Spark's executor had ended: by the code that stands for an exception
// that nobody caught, or for a second one while it handled that.
func (r *reader) uncaughtInExecutor(i int) bool {
	if !r.lines[i].contains("ExecutorLostFailure") {
		return false
	}
	for j := i; j < len(r.lines) && j <= i+maxTelling; j++ {
		if r.lines[j].contains("exit code 50(", "exit code 51(", "(Uncaught exception)") {
			return true
		}
	}
	return false
}

// unlinks reports whether Java raises the exception for a class, or a part of it, that is missing or another than it was built with.
func unlinks(class string) bool {
	switch class {
	case "ClassNotFoundException", "NoClassDefFoundError", "NoSuchMethodError", "NoSuchFieldError", "NoSuchMethodException", "NoSuchFieldException":
		return true
	case "AbstractMethodError", "IllegalAccessError", "UnsatisfiedLinkError", "VerifyError", "BootstrapMethodError":
		return true
	}
	return strings.HasPrefix(class, "IncompatibleClass") || strings.HasPrefix(class, "UnsupportedClassVersion") || strings.HasPrefix(class, "ClassFormat")
}
