package exitcodes

// raisedItself finds that nobody has interrupted the program, as the exception says that begins at line begin: OpenBLAS, which could
// not start its threads, said so and sent SIGINT to its own process, as its blas_thread_init does.
func (r *reader) raisedItself(begin int, s said) (said, bool) {
	if !s.known || s.match.Rule.Name != interruptRule {
		return s, false
	}
	for i := begin - 1; i >= 0 && begin-i <= closing; i-- {
		l := &r.lines[i]
		if l.rule != nil && l.rule.Name == "openblas.threads" {
			return said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: i}, true
		}
		if !l.contains("OpenBLAS ") {
			break
		}
	}
	return s, false
}
