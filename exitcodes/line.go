package exitcodes

import (
	"bytes"
	"strings"
	"time"
)

// Arrival says when a part of an output arrived, and by which of the worker's streams: the bytes from Offset on, up to the
// next arrival. A list of them is in the order of offsets and times.
type Arrival struct {
	Offset int
	At     time.Time
	Stream int // from 1; 0 when it is not known, or several
}

// level is how bad a line says it is; the zero value is a line that does not say.
type level uint8

const (
	levelNone level = iota
	levelInfo
	levelWarning
	levelError
)

// trait is what the words of a line tell by themselves. Lines that differ only in numbers share them.
type trait uint32

const (
	traitNoise    trait = 1 << iota // of a dying interpreter, a launcher, a tracker
	traitBar                        // a progress bar
	traitEcho                       // of a launcher, about a child that exited
	traitHandled                    // it says itself that it was got over
	traitError                      // something went wrong
	traitWork                       // it may be one of a training loop
	traitTeardown                   // only a dying interpreter says it
	traitExit                       // only a process that goes down says it
	traitSignal                     // it may tell of a signal
	traitShell                      // a shell may tell in it of a child that a signal killed
	traitNames                      // it may name the ranks that did not come, or a host
	traitWithout                    // its program works on without that
	traitGaveUp                     // the last try of several: what it says was not got over
	traitOutcome                    // it may tell only that something has failed or ended
	traitEpilogue                   // of a report that a scheduler or a script prints about the job when it has ended
	traitTracker                    // of an experiment tracker, without which training goes on
	traitSteps                      // it may be one that a training loop prints only once it has made steps
	traitSpeed                      // it may tell how fast something is
)

// kind is what the reader makes of a line.
type kind uint8

const (
	kindOther    kind = iota
	kindWork          // training went on
	kindSurvived      // an error after which training went on
	kindLast          // what was said about the end
	kindNoise         // what a dying interpreter, a launcher or a progress bar prints
)

// line is one line of an output, without what launchers, container runtimes and loggers put before it.
type line struct {
	number int    // in the output, from 0; several lines may come from one line of JSON
	offset int    // of the line of the output
	raw    []byte // as it was printed, without escape sequences
	text   []byte // without prefixes, bounded
	tag    string // whose it is: a rank's, a task's, a pod's; empty when it does not say
	own    bool   // torch's hook for uncaught exceptions has tagged it: its process has ended of what it says
	logged bool   // a logger wrote it: it begins a record of its own
	glog   bool   // glog wrote it, whose records may have more lines
	fatal  bool   // glog's last line: it aborts the process after it
	goesOn bool   // it goes on such a record about an error
	level  level
	clock  time.Time // what it says itself; zero when it does not
	shape  uint64
	traits trait
	mute   bool // no rule can fit it
	headed bool // it goes on a line that heads it, and is read there
	inner  bool // the innermost call of a stack that a library prints of its own error

	at     time.Time // when it arrived, or its clock where that is not known
	stream int       // 0 when it is not known
	kind   kind
	rule   *Rule // that fits it
}

const (
	maxText   = 4 << 10 // bytes of a line that are read: the start, and the end of what is longer
	maxLines  = 1 << 15 // lines that are read, the last ones
	maxExpand = 256     // lines that one line of JSON may become
)

// readLines splits an output into lines. A carriage return ends one, too: what it overwrites is a line that was read before.
func readLines(output []byte, m *meter) []line {
	m.pass(3, len(output)) // labels, line ends, carriage returns
	labels := hasLabels(output)
	shippers := findShippers(output, labels, m)
	lines := make([]line, 0, min(countLines(output), 2*maxLines))
	number, offset := 0, 0
	for full := range bytes.Lines(output) {
		from := line{number: number, offset: offset}
		offset += len(full)
		full = bytes.Trim(bytes.TrimRight(full, "\r\n"), "\x00")
		if len(shippers) == 0 || !m.afford(len(shippers), min(len(full), maxShipped)) {
			// nothing to take off, or too much to look for
		} else if s := shippedBy(shippers, full); s != nil {
			full = s.take(&from, full, labels)
		}
		if bytes.IndexByte(full, '\r') >= 0 {
			m.pass(2, len(full))
			full = lastWritten(full)
		}
		for part := range bytes.SplitSeq(full, []byte{'\r'}) {
			if len(bytes.TrimSpace(part)) == 0 && (len(part) != len(full) || len(lines) > 0 && len(lines[len(lines)-1].text) == 0) {
				continue // overwritten, or a second blank line
			}
			m.pass(2, len(part)) // escape sequences, heads
			l := from
			l.raw = part
			lines = tokenize(lines, l, labels, m)
		}
		number++
		if len(lines) > 2*maxLines {
			lines = append(lines[:0], lines[len(lines)-maxLines:]...)
		}
	}
	if len(lines) > maxLines {
		lines = lines[len(lines)-maxLines:]
	}
	joinHeads(lines, m)
	head := -maxRecord
	for i := range lines {
		l := &lines[i]
		switch {
		case l.glog && l.level == levelError:
			head = i
		case l.logged || l.blank():
			head = -maxRecord
		default:
			l.goesOn = i-head < maxRecord
		}
	}
	return lines
}

const maxRecord = 12 // lines of one record of glog

// countLines is how many lines of an output have something in them, and one more for a blank one.
func countLines(output []byte) int {
	n := 1
	for len(output) > 0 {
		end := bytes.IndexByte(output, '\n')
		if end != 0 {
			n++
		}
		if end < 0 {
			break
		}
		output = output[end+1:]
	}
	return n
}

// stamp says of each line when it arrived, and by which stream. Nothing else is known of it then.
func stamp(lines []line, arrived []Arrival) {
	next := 0
	var came Arrival
	for i := range lines {
		l := &lines[i]
		for next < len(arrived) && arrived[next].Offset <= l.offset {
			came = arrived[next]
			next++
		}
		l.at, l.stream, l.kind, l.rule = came.At, came.Stream, kindOther, nil
		if l.at.IsZero() {
			l.at = l.clock
		}
	}
}

// lastWritten leaves of a line that was written over again and again what was written last.
func lastWritten(text []byte) []byte {
	from := len(text)
	for range maxOverwritten {
		if from = bytes.LastIndexByte(text[:from], '\r'); from < 0 {
			return text
		}
	}
	return text[from:]
}

const maxOverwritten = 64

// clipped is the start of a line, and the end of one that is longer than what is read.
func clipped(text []byte) []byte {
	if len(text) <= maxText {
		return text
	}
	short := make([]byte, 0, maxText+1)
	short = append(short, text[:maxText/2]...)
	return append(short, text[len(text)-maxText/2:]...)
}

// indent is how many spaces a line begins with.
func indent(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " ")) }

// blank reports whether the line says nothing.
func (l *line) blank() bool { return len(bytes.TrimSpace(l.text)) == 0 }

// says reports whether the line begins with one of the words.
func (l *line) says(words ...string) bool {
	for _, w := range words {
		if len(l.text) >= len(w) && string(l.text[:len(w)]) == w {
			return true
		}
	}
	return false
}

// contains reports whether one of the words is in the line.
func (l *line) contains(words ...string) bool {
	for _, w := range words {
		if bytes.Contains(l.text, []byte(w)) {
			return true
		}
	}
	return false
}

// shown is the line for a person: without the prefixes, and whole.
func (l *line) shown() string { return strings.TrimSpace(string(l.text)) }
