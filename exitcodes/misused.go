package exitcodes

import "bytes"

// misused finds that the program was called wrongly, as argparse and click tell of it with their code 2: how it is to be called, and as
// the very last line what is wrong. Whatever stands before that in the file is of an earlier run.
func (r *reader) misused() (said, bool) {
	if r.code != usageCode {
		return said{}, false
	}
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		if l.blank() || l.kind == kindNoise || l.says("srun: ", "slurmstepd: ") || besideTheRun(l) || r.tellsOutcome(l) {
			continue
		}
		if prog, _, found := bytes.Cut(l.text, []byte(": error: ")); !l.says("Error: ") && (!found || bytes.IndexByte(prog, ' ') >= 0) {
			return said{}, false
		}
		for j := i - 1; j >= 0 && j >= i-maxUsage && !isHeader(r.lines[j].text); j-- {
			if !r.lines[j].says("usage: ", "Usage: ") {
				continue
			}
			if l.rule != nil {
				return said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: i}, true
			}
			return said{exception: l.shown(), at: i, unknown: true, program: true}, true
		}
		return said{}, false
	}
	return said{}, false
}

const (
	usageCode = 2  // of a program that was called wrongly
	maxUsage  = 60 // lines of how it is to be called
)
