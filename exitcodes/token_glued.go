package exitcodes

import "bytes"

// behindBar finds what was printed right behind a progress bar of tqdm, which ends no line: "3/9 [00:12<00:03, 2.1s/it]Killed".
// 0 when there is nothing, or more of the bar.
func behindBar(text []byte) int {
	bar, mark := bytes.Index(text, []byte("%|")), byte('<')
	if bar < 0 { // one that has no end: "29948it [35:34,  7.00s/it]"
		if bar, mark = bytes.Index(text, []byte("it [")), ','; bar < 1 || !isDigit(text[bar-1]) {
			if bar, mark = bytes.Index(text, []byte(" [")), '<'; bar < 1 || !isDigit(text[bar-1]) || bytes.IndexByte(text[:bar], '/') < 1 { // "82/1000 [02:46<56:07,  2.03s/it]"
				return 0
			}
		}
	}
	from := bytes.IndexByte(text[bar:], '[')
	if from < 0 || bytes.IndexByte(text[bar+from:min(len(text), bar+from+24)], mark) < 0 {
		return 0
	}
	depth := 0
	for i := bar + from; i < len(text); i++ {
		switch text[i] {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth > 0 {
			continue
		}
		i++
		if rest := bytes.TrimLeft(text[i:], " "); shellHead().Match(rest[:min(len(rest), 200)]) {
			return len(text) - len(rest) // behind the blanks with which the bar was wiped away, if it was
		}
		if i < len(text) && bytes.IndexByte([]byte(" ,.;:)]}\"'"), text[i]) < 0 {
			return i
		}
		return 0
	}
	return 0
}

var shellHead = lazy(`^(?:\S+: line \d+: |slurmstepd: error: )`)

// gluedHead finds where another message of a C++ logger begins within a line: ranks that share a pipe write at once, and an
// exception's text has no line end. "...was detected.[rank5]:[E602 11:17:52.185 ProcessGroupNCCL.cpp:632] [Rank 5] Watchdog".
// 0 when there is none.
func gluedHead(text []byte) int {
	if i := bytes.Index(text[:min(len(text), maxDeath)], []byte("Error using ")); i > 0 && (text[i-1] == ':' || text[i-1] == '.') { // behind MATLAB's own progress
		return i
	}
	for from := 1; from < len(text); {
		i := bytes.IndexByte(text[from:], '[')
		if i < 0 {
			break
		}
		i += from
		from = i + 1
		if !isLogHead(text[i:]) {
			continue
		}
		if before := bytes.LastIndexByte(text[:i], '['); before >= 0 { // its rank
			if name, _, rest := rankPrefix(text[before:]); name == "rank" && len(text)-len(rest) == i {
				return before
			}
		}
		return i
	}
	return 0
}

// isLogHead reports whether a text begins as torch logs an error: "[E ProcessGroupNCCL.cpp:455] ", "[E602 11:17:52.18 x.cpp:6] ".
func isLogHead(text []byte) bool {
	if len(text) < 12 || text[1] != 'E' && text[1] != 'F' || text[2] != ' ' && !isDigit(text[2]) {
		return false
	}
	end := bytes.IndexByte(text[:min(len(text), 100)], ']')
	return end > 0 && bytes.Contains(text[:end], []byte(".cpp:"))
}
