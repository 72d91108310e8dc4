package exitcodes

import "bytes"

// underCode reports whether line i goes on what Ascend's CANN tells by a code, "EZ9999: Inner Error!": the lines below are so deep that they
// look like source, but say why.
func (r *reader) underCode(i int) bool {
	for j := i; j >= 0 && i-j <= maxUnderCode; j-- {
		text := r.lines[j].text
		if indent(text[:min(len(text), underCode)]) < underCode {
			return isCode(text)
		}
	}
	return false
}

const (
	underCode    = 8  // spaces before such lines
	maxUnderCode = 30 // lines
)

// isCode reports whether a line begins with one of CANN's codes, "E", a letter and four digits, but for those of its collectives, which say why
// in their first line. Newer versions put the process, the time and a name before it: "[PID: 7] 2026-05-01-10:58:51.789 Device_Absent(EL0001): ".
func isCode(text []byte) bool {
	if bytes.HasPrefix(text, []byte("[PID: ")) {
		if _, code, found := bytes.Cut(text[:min(len(text), 120)], []byte("(")); found {
			text = bytes.Replace(code, []byte(")"), nil, 1)
		}
	}
	return len(text) > 6 && text[0] == 'E' && text[1] >= 'A' && text[1] <= 'Z' && text[1] != 'I' && text[1] != 'J' && digits(string(text[2:6])) && bytes.HasPrefix(text[6:], []byte(": "))
}
