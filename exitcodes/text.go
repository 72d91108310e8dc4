package exitcodes

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// lazy compiles an expression at its first use: most runs never read a log, and every start counts.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// ranksText is an output taken apart by the prefixes of the ranks that printed it, without those of launchers. Torch's own
// stay: its hook for uncaught exceptions prints them.
type ranksText struct {
	lines         []arrivedLine
	global, local map[int][]int // torch's own prefix has the global rank, a launcher's the local one; indexes of lines
	nobodys       timedText
}

type arrivedLine struct {
	text []byte
	came Arrival // without its offset; zero when it is not known
}

// timedText is lines of an output, with the times at which they arrived where those are known.
type timedText struct {
	text    []byte
	arrived []Arrival
}

func (t *timedText) add(text []byte, came Arrival) {
	came.Offset = len(t.text)
	var last Arrival
	if n := len(t.arrived); n > 0 {
		last = t.arrived[n-1]
	}
	if !came.At.Equal(last.At) || came.Stream != last.Stream {
		t.arrived = append(t.arrived, came)
	}
	t.text = append(t.text, text...)
}

// sharedText is what was read of a text that belongs to none of a report's ranks, for the next of them that is judged by it.
type sharedText struct {
	lines []line        // of the last reading
	words map[bool]said // what it was read to say, after a crash or not
}

// untimed is the list without its times: by which stream the parts came is all that it tells.
func untimed(arrived []Arrival) []Arrival {
	list := make([]Arrival, len(arrived))
	for i, a := range arrived {
		list[i] = Arrival{Offset: a.Offset, Stream: a.Stream}
	}
	return list
}

// splitByRank takes an output apart in one pass.
func splitByRank(output []byte, arrived []Arrival) ranksText {
	t := ranksText{global: map[int][]int{}, local: map[int][]int{}}
	var came Arrival
	offset := 0
	for l := range bytes.Lines(output) {
		for len(arrived) > 0 && arrived[0].Offset <= offset {
			came, arrived = arrived[0], arrived[1:]
		}
		offset += len(l)
		text, rank, local := l, -1, -1
		name, number, rest := rankPrefix(text)
		if name != "" && name != "rank" {
			local, text = number, rest
			name, number, _ = rankPrefix(text)
		}
		if name == "rank" {
			rank = number
		}
		switch {
		case rank >= 0:
			t.global[rank] = append(t.global[rank], len(t.lines))
		case local >= 0:
			t.local[local] = append(t.local[local], len(t.lines))
		default:
			t.nobodys.add(l, came)
			continue
		}
		t.lines = append(t.lines, arrivedLine{text, came})
	}
	return t
}

// of returns what carries this rank's prefix, in the order in which it was printed. Rank and local rank may be -1.
func (t ranksText) of(rank, localRank int) (words timedText) {
	at := slices.Concat(t.global[rank], t.local[localRank])
	slices.Sort(at)
	for _, i := range at {
		words.add(t.lines[i].text, t.lines[i].came)
	}
	return words
}

// rankPrefix reads "[rank3]: " or a launcher's "[default0]:".
func rankPrefix(text []byte) (name string, number int, rest []byte) {
	end := bytes.Index(text[:min(len(text), 40)], []byte("]:"))
	if end < 2 || text[0] != '[' {
		return "", 0, text
	}
	in := string(text[1:end])
	if !letterThenDigits(in) {
		return "", 0, text
	}
	at := len(in)
	for in[at-1] >= '0' && in[at-1] <= '9' {
		at--
	}
	number, _ = strconv.Atoi(in[at:])
	return in[:at], number, bytes.TrimPrefix(text[end+2:], []byte(" "))
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

// isField reports whether the line is a field of a JSON object printed over several lines, as launchers print what torch
// recorded: its depth is that of the object. Within a traceback it may be source code all the same.
func isField(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	if len(line) == 0 || line[0] != '"' {
		return false
	}
	name := bytes.IndexByte(line[1:min(len(line), 66)], '"')
	return name > 0 && bytes.HasPrefix(line[name+2:], []byte(": \"")) && bytes.HasSuffix(bytes.TrimRight(line, " ,"), []byte{'"'})
}
