package exitcodes

import "bytes"

// words is what a worker says about its own end: a line that a rule knows or, failing that, the exception that no rule
// knows.
type words struct {
	match     Match
	exception string
}

// before is how many lines before the last traceback may still explain it: libraries in C++ print what went wrong, and
// then Python raises something about it. What is older was survived.
const before = 50

// lastWords reads the error file and the output of a worker from the end. The last traceback decides if it names a
// cause, or an exception that nobody knows. If it only tells of a failure elsewhere, and output may be shared with
// others, an earlier one may name the cause.
func lastWords(errorFile, output []byte, rules *Rules, code int) words {
	var elsewhere words // the best that is no cause
	// names reports whether the text names a cause, and remembers what it says otherwise.
	names := func(text []byte) (words, bool) {
		m, found := rules.search(text, code)
		if found && m.Rule.Role == RoleRoot {
			return words{match: m}, true
		}
		if found && m.Rule.Role > elsewhere.match.Rule.Role {
			elsewhere.match = m
		}
		return words{}, false
	}
	if file, err := ParseErrorFile(errorFile); err == nil {
		if w, found := names([]byte(file.Message + "\n" + file.Callstack)); found {
			return w
		}
		if elsewhere.match.Rule.Role == RoleNone {
			return words{exception: firstLine(file.Message)}
		}
	}
	last := true
	for start, block := range tracebacks(output) {
		if w, found := names(block); found {
			return w
		}
		if last {
			if w, found := names(output[linesBefore(output, start, before):]); found {
				return w
			}
			last = false
		}
		_, known := rules.search(block, code)
		if exception := uncaught(block); exception != "" && !known {
			return words{exception: exception}
		}
	}
	if w, found := names(output); found {
		return w
	}
	return elsewhere
}

// linesBefore is where the n lines before the one at start begin.
func linesBefore(text []byte, start, n int) int {
	for range n {
		if start == 0 {
			break
		}
		start = bytes.LastIndexByte(text[:start-1], '\n') + 1
	}
	return start
}
