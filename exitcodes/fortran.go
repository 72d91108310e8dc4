package exitcodes

import "strconv"

// endedInFortran is the error of Intel's Fortran runtime by whose number the process ended: what it stopped for, whatever a launcher
// says of the ranks that it killed after that.
func (r *reader) endedInFortran() (said, bool) {
	if r.code <= uncaught {
		return said{}, false
	}
	number := "(" + strconv.Itoa(r.code) + "): "
	for i := len(r.lines) - 1; i >= 0; i-- {
		l := &r.lines[i]
		head := "forrtl: severe " + number
		if !l.says(head) {
			head = "forrtl: error " + number
		}
		if !l.says(head) || l.kind == kindSurvived || l.contains("(SIG", ": SIG") { // of which it names the signal
			continue
		}
		if f := r.familyIn(l.shown()[len(head):]); f.known() {
			return said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: i}, true
		}
		return said{exception: l.shown(), at: i, unknown: true, program: true}, !ofMachine[r.code]
	}
	return said{}, false
}

// ofMachine are the numbers of errors that a file system or a lack of memory may be the cause of: in closing, opening, writing and
// reading a file, and in allocating.
var ofMachine = map[int]bool{28: true, 30: true, 38: true, 39: true, 41: true, 42: true, 98: true}
