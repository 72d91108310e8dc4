package exitcodes

import (
	"bytes"
	"math/bits"
	"strconv"

	"github.com/gangrun/gangrun/exitcodes/wording"
)

// marked are the words of line i and marks of what the reader makes of it, which begin with "=". far is how many lines came
// after it, and later whether one of them tells of an error.
func (r *reader) marked(i, far int, later bool) []string {
	l := &r.lines[i]
	var marks []string
	mark := func(name string, is bool) {
		if is {
			marks = append(marks, "="+name)
		}
	}
	mark([...]string{"other", "work", "survived", "last", "noise"}[l.kind], true)
	mark([...]string{"plain", "info", "warning", "error"}[l.level], true)
	for _, t := range markedTraits {
		mark(t.name, l.is(t.trait))
	}
	mark("later", later)
	mark("ends", r.tellsOutcome(l))
	mark("aside", besideTheRun(l))
	mark("measure", measured().Match(l.text[:min(len(l.text), 200)]))
	mark("advice", l.says(advice...))
	mark("worded", worded(l.text))
	mark("inside", r.inside[i])
	mark("frame", isFrame(l.text))
	mark("header", isHeader(l.text))
	class, _, ok := exceptionHead(l.text)
	mark("exception", ok && looksRaised(class) || l.says("Exception in ") && bytes.HasSuffix(bytes.TrimSpace(l.text), []byte(":")))
	mark("indented", indented(l.text))
	mark("colon", bytes.IndexByte(l.text[:min(len(l.text), 80)], ':') >= 0)
	mark("bracket", bytes.IndexByte(l.text[:min(len(l.text), 40)], '[') >= 0)
	mark("far"+strconv.Itoa(bits.Len(uint(far))), true)
	for _, w := range wording.Words(r.statement(i)) {
		marks = append(marks, w.Key)
	}
	return marks
}

var markedTraits = []struct {
	trait trait
	name  string
}{{traitNoise, "noisy"}, {traitBar, "bar"}, {traitEcho, "echo"}, {traitHandled, "handled"}, {traitError, "wrong"}, {traitOutcome, "outcome"},
	{traitTracker, "tracker"}, {traitGaveUp, "gaveup"}, {traitWithout, "without"}, {traitExit, "exit"}}
