package exitcodes

// ignoreLeftBehind takes for noise what the children of multiprocessing say whose parent is gone, where the parent has said before why it
// goes: each finds its pipe broken.
func (r *reader) ignoreLeftBehind() {
	parent := -1
	for i := range r.chains {
		c := &r.chains[i]
		switch {
		case c.ignored || c.survived:
		case !r.leftBehind(c):
			parent = i
		case parent >= 0 && c.begin-r.chains[parent].end < fresh && related(c.tag, r.chains[parent].tag):
			c.ignored = true
			for j := i + 1; j < len(r.chains) && r.leftBehind(&r.chains[j]); j++ {
				r.chains[j].ignored = true
			}
		}
	}
}

// leftBehind reports whether a chain is of a child of multiprocessing that has lost the other end of its pipe.
func (r *reader) leftBehind(c *chain) bool {
	switch c.last().class {
	case "BrokenPipeError", "ConnectionResetError", "EOFError":
		return len(c.members) == 1 && r.through(c, "multiprocessing/connection.py\"") && r.lines[c.frames[min(1, len(c.frames)-1)]].contains("multiprocessing/process.py\"")
	}
	return false
}
