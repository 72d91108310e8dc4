package exitcodes

import "strings"

// A program that copies many files continues with the others where one of them fails, and ends with a code that says so. What it has said
// of that one is final, whatever it copies after it.

// ofTransfer reports whether the clients of AWS, s5cmd or rclone tell in a line of a file that was not copied.
func ofTransfer(l *line) bool {
	return l.says("download failed: ", "upload failed: ", "copy failed: ", "move failed: ", "delete failed: ") && l.contains("s3://") ||
		l.says(`ERROR "cp `, `ERROR "mv `, `ERROR "sync `, `"cp `, `"mv `, `"sync `) && l.contains(`": `) || l.level == levelError && l.contains(": Failed to copy: ")
}

// transferred begin the lines of such programs about other files.
var transferred = []string{"Completed ", "download: ", "upload: ", "copy: ", "move: ", "delete: ", "cp ", "mv ", "Transferred: ", "Errors: ", "Checks: ", "Elapsed time: "}

// notTransferred judges what such a program has said, where nothing else went wrong after it: a condition that passes, for each file that
// it could not copy.
func (r *reader) notTransferred() (s said, found bool) {
	if !r.rules.families {
		return said{}, false
	}
	heads := 0
	copied := map[string]bool{} // later
	for i := len(r.lines) - 1; i >= 0 && len(r.lines)-i <= backtrace && (!r.inside[i] || r.lines[i].kind == kindNoise); i-- {
		l := &r.lines[i]
		if _, file, ok := strings.Cut(fileOf(l), ": "); ok && l.says(transferred...) {
			copied[file] = true
		}
		if ofTransfer(l) {
			if _, file, _ := strings.Cut(fileOf(l), ": "); file != "" && copied[file] { // at the next try
				continue
			}
			if !r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
				return said{}, false
			}
			f := familyOf("", l.text)
			if !f.known() && i+1 < len(r.lines) && r.meter.afford(familyPasses, min(len(r.lines[i+1].text), maxMessageText)) { // older ones say why in the next line
				l = &r.lines[i+1]
				f = familyOf("", l.text)
			}
			if f.verdict != Retry {
				return said{}, false
			}
			if !found {
				s, found = said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: i}, true
			}
			continue
		}
		if found || l.blank() || l.kind == kindNoise || l.is(traitNoise|traitEcho) || l.says(transferred...) || besideTheRun(l) || r.tellsOutcome(l) {
			continue
		}
		if heads++; heads > closing || l.kind == kindLast {
			return said{}, false
		}
	}
	return s, found
}

// fileOf is what the AWS CLI did with a file, and that file, "download: s3://b/k": all before " to ".
func fileOf(l *line) string {
	what, _, found := strings.Cut(l.shown()[:min(len(l.shown()), maxOutcome)], " to ")
	if !found {
		return ""
	}
	return what
}
