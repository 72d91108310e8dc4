package exitcodes

import "bytes"

// buildFailed is the line in which make says that a job has failed and that it waits for those beside it, where the output ends with
// its last word about that: what compilers print meanwhile tells nothing. Else it is the number of lines.
func (r *reader) buildFailed() int {
	end := len(r.lines) - 1
	for end >= 0 && r.lines[end].blank() {
		end--
	}
	if end < 0 || !ofMake(&r.lines[end]) {
		return len(r.lines)
	}
	for i := max(0, end-maxBuild); i < end; i++ {
		if l := &r.lines[i]; ofMake(l) && l.contains("*** Waiting for unfinished jobs") {
			return i
		}
	}
	return len(r.lines)
}

// ofMake reports whether make says in a line that something has failed: "make[2]: *** [all] Error 2".
func ofMake(l *line) bool {
	return l.says("make: ***", "make[", "gmake: ***", "gmake[") && bytes.Contains(l.text, []byte(": *** "))
}

const maxBuild = 5000 // lines that the other jobs print
