package exitcodes

import "strings"

// forked tells CUDA's refusal to work in a process that was forked from one that had used it from a device in a bad state, where CUDA
// gives both the same words: "initialization error". A child of multiprocessing that was forked says so in its name.
func (r *reader) forked(c *chain, s said) said {
	if s.match.Rule.Reason != "CUDAError" || !strings.Contains(s.match.Line, "initialization error") || !r.through(c, `multiprocessing/process.py", line `) {
		return s
	}
	fork := r.through(c, "multiprocessing/popen_fork.py")
	for i := c.begin - 1; i >= 0 && c.begin-i <= maxBefore && !fork; i-- {
		fork = r.lines[i].contains("Process Process-", "Process ForkProcess-")
	}
	if fork {
		s.match.Rule = deterministic("device", "CUDAUsage").rule()
	}
	return s
}
