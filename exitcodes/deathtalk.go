package exitcodes

import "bytes"

// talksOfDeath reports whether line i is one with which the C and C++ libraries, MXNet or Open MPI tell that the process dies, and
// where it was, but not of what: an exception that nobody caught with nothing named that passes, a heap that destructors have spoilt.
// An interpreter that goes down prints them after the exception of which it had ended.
func (r *reader) talksOfDeath(i int) bool {
	l := &r.lines[i]
	switch {
	case l.rule != nil && l.rule.Name == "glibc.heap", thrownUncaught(l):
		return true
	case i > 0 && r.lines[i-1].says(terminated) && l.says("  what():", "what():"):
		return thrownUncaught(&r.lines[i-1]) && (l.rule == nil || l.rule.Role <= RoleConfirm) || l.contains("driver shutting down")
	case l.says(terminated) && i+1 < len(r.lines) && r.lines[i+1].contains("driver shutting down"):
		return true
	}
	text := bytes.TrimLeft(l.text, " ")
	if host, rest, found := bytes.Cut(text[:min(len(text), 300)], []byte("] ")); found && text[0] == '[' && bytes.IndexByte(host, ':') > 0 { // Open MPI's
		text = bytes.TrimLeft(rest, " ")
	}
	return (&line{text: text}).says("FATAL: exception not rethrown", "Signal: ", "Signal code: ", "Associated errno: ", "Failing at address: ", "[bt] (", "Segmentation fault: 11", "*** Process received signal", "*** End of error message", "======= Backtrace", "======= Memory map") ||
		l.contains("/nptl/pthread_") && l.contains("Assertion `") || frameOfC(text)
}

// frameOfC reports whether a line is a frame of a stack as the C library prints it, or a line of its map of the memory:
// "/lib/libc.so.6(abort+0x16a)[0x7f0]", "[ 3] /lib/libc.so.6(+0x42520)[0x7f0]", "00400000-007a9000 r-xp 00000000".
func frameOfC(text []byte) bool {
	text = text[:min(len(text), 300)]
	open, at := bytes.IndexByte(text, '('), bytes.Index(text, []byte("+0x"))
	return open > 0 && at > open && bytes.Contains(text[at:], []byte("[0x")) || mapPattern().Match(text)
}

var mapPattern = lazy(`^[0-9a-f]{8,16}-[0-9a-f]{8,16} [r-][w-][x-][ps] `)

// thrownUncaught reports whether the C++ library says in a line that nobody has caught an exception, of which that is all it says.
func thrownUncaught(l *line) bool {
	return l.rule != nil && (l.rule.Name == "cxx.terminate" || l.rule.Name == "cxx.memory")
}
