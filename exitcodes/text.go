package exitcodes

import (
	"bytes"
	"iter"
	"regexp"
	"strconv"
	"sync"
)

// lazy compiles an expression at its first use: most runs never read a log, and every start counts.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	torchPrefix = lazy(`^\[rank(\d+)\]:\s?`)              // torch's own, the global rank
	agentPrefix = lazy(`^\[([A-Za-z_]+?)(\d{1,6})\]:\s?`) // a launcher's, role and local rank
)

// linesOf returns the lines of output that carry the prefix of this rank, without it; when none does, the lines that
// carry no rank's prefix, and false. Rank and local rank may be -1.
func linesOf(output []byte, rank, localRank int) (lines []byte, owned bool) {
	var own, nobodys []byte
	for line := range bytes.Lines(output) {
		text, number, want := line, -1, rank
		if m := agentPrefix().FindSubmatchIndex(text); m != nil && string(text[m[2]:m[3]]) != "rank" {
			number, _ = strconv.Atoi(string(text[m[4]:m[5]]))
			text, want = text[m[1]:], localRank
		}
		if m := torchPrefix().FindSubmatchIndex(text); m != nil {
			number, _ = strconv.Atoi(string(text[m[2]:m[3]]))
			text, want = text[m[1]:], rank
		}
		switch {
		case number < 0:
			nobodys = append(nobodys, text...)
		case number == want:
			own = append(own, text...)
		}
	}
	if len(own) > 0 {
		return own, true
	}
	return nobodys, false
}

var chained = [][]byte{
	[]byte("During handling of the above exception, another exception occurred:"),
	[]byte("The above exception was the direct cause of the following exception:"),
}

// tracebacks yields the Python tracebacks in output, the last one first, each together with those that it says it was
// caused by, and where it begins. What follows a traceback up to the next belongs to it.
func tracebacks(output []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		end := len(output)
		for end > 0 {
			start := bytes.LastIndex(output[:end], []byte(traceback))
			if start < 0 {
				return
			}
			for {
				previous := bytes.LastIndex(output[:start], []byte(traceback))
				if previous < 0 || !linked(output[previous:start]) {
					break
				}
				start = previous
			}
			start = bytes.LastIndexByte(output[:start], '\n') + 1
			if !yield(start, output[start:end]) {
				return
			}
			end = start
		}
	}
}

func linked(between []byte) bool {
	for _, words := range chained {
		if bytes.Contains(between, words) {
			return true
		}
	}
	return false
}

// cleanLine takes the line's end away, and the NUL that torch prints after a message of its own.
func cleanLine(line []byte) []byte {
	return bytes.TrimLeft(bytes.TrimRight(line, "\r\n"), "\x00")
}

// quoted reports whether the line is source code in a traceback, which is deeper than the frames around it: what it
// would print is not what was printed.
func quoted(line []byte) bool {
	if i := bytes.Index(line, []byte("]:")); i > 0 && line[0] == '[' {
		line = bytes.TrimPrefix(line[i+2:], []byte(" "))
	}
	code := bytes.TrimLeft(line, " ")
	return len(line)-len(code) >= 4 && len(code) > 0 && code[0] != '|'
}

// An uncaught exception's last line: a dotted name that begins a line, and perhaps what it says.
var exceptionLine = lazy(`^(?:\[[^\]]*\]:?\s*)*(?:\s*\| )?((?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?::\s.*)?$`)

// uncaught returns the line that names the exception which ended the traceback block, or "".
func uncaught(block []byte) string {
	inFrames, found := false, ""
	for line := range bytes.Lines(block) {
		line = cleanLine(line)
		switch {
		case bytes.Contains(line, []byte(traceback)):
			inFrames = true
		case inFrames && exceptionLine().Match(line):
			found, inFrames = string(line), false
		}
	}
	return found
}
