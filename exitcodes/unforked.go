package exitcodes

// unforked finds that line i tells of a process that could not be started because memory was short: by the frame right before
// it. What is asked for is as much as the parent holds, if only on paper, so how much there is depends on the machine's other
// processes at that moment; a mapping that is too large by itself stays so.
func (r *reader) unforked(i int) (Match, bool) {
	if !r.rules.families || !r.lines[i].contains("[Errno 12] Cannot allocate memory") {
		return Match{}, false
	}
	for j := i - 1; j >= max(0, i-forkFrame); j-- {
		if r.lines[j].contains("os.fork()", "fork_exec(", ", in _execute_child", ", in _launch", ", in _fork_exec") {
			return Match{Rule: transient("errno", "ResourceBusy", RoleRoot).rule(), Line: r.lines[i].shown()}, true
		}
	}
	return Match{}, false
}

const forkFrame = 3 // lines of a frame: its place, its code and the marks below that
