package exitcodes

// unforked finds that line i tells of memory that was short for a moment: what a fork asks for is as much as the parent holds, if
// only on paper, and the kernel's own memory is everybody's. A mapping that is too large by itself stays so: the frame right
// before it says that it was one.
func (r *reader) unforked(i int) (Match, bool) {
	if !r.rules.families || !r.lines[i].contains("[Errno 12]") {
		return Match{}, false
	}
	for j := i - 1; j >= max(0, i-forkFrame); j-- {
		if r.lines[j].contains("mmap", "memmap") {
			return Match{}, false
		}
	}
	return Match{Rule: transient("errno", "ResourceBusy", RoleRoot).rule(), Line: r.lines[i].shown()}, true
}

const forkFrame = 3 // lines of a frame: its place, its code and the marks below that
