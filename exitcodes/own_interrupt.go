package exitcodes

// raisedItself finds that nobody has interrupted the program, as the exception says that begins at line begin: OpenBLAS, which could
// not start its threads, said so and sent SIGINT to its own process, as its blas_thread_init does.
func (r *reader) raisedItself(begin int, s said) (said, bool) {
	if !s.known || s.match.Rule.Name != interruptRule {
		return s, false
	}
	for i := begin - 1; i >= 0 && begin-i <= closing; i-- {
		l := &r.lines[i]
		if !l.says("OpenBLAS ") {
			break
		}
		if l.contains("init: pthread_create failed for thread ") {
			return said{match: Match{Rule: transient("errno", "ResourceBusy", RoleRoot).rule(), Line: l.shown()}, known: true, at: i}, true
		}
	}
	return s, false
}
