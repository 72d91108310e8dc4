package event

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gangrun/gangrun/exitcodes/ascii"
)

// MaxText is the most bytes of one text in an event; MaxLine is more than a line with all of them takes.
const (
	MaxText = 1024
	MaxLine = 64 << 10
)

// Text is s as it may stand in an event: valid, and no longer than MaxText.
func Text(s string) string {
	s = string(bytes.ToValidUTF8([]byte(s[:min(len(s), MaxText+utf8.UTFMax)]), []byte("\ufffd")))
	for len(s) > MaxText {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// mostOfLine is of a line, in bytes: one long line does not push out the cause above it.
const mostOfLine = MaxText / 4

// LastLines is the end of what was printed, as it may stand in an event: at most so many lines that have something on
// them, of each the beginning, and of a progress bar its last state.
func LastLines(printed []byte, most int) string {
	var lines []string
	size := 0
	for len(lines) < most && len(printed) > 0 {
		var line []byte
		if i := bytes.LastIndexByte(printed, '\n'); i >= 0 {
			printed, line = printed[:i], printed[i+1:]
		} else {
			printed, line = nil, printed
		}
		line = bytes.TrimRight(line, " \t\r")
		line = line[bytes.LastIndexByte(line, '\r')+1:]
		text := Text(string(line[:min(len(line), mostOfLine)]))
		if text == "" {
			continue
		}
		if size += len(text) + 1; size > MaxText+1 {
			break
		}
		lines = append(lines, text)
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

// Time is at as it stands in an event: in UTC, to the millisecond.
func Time(at time.Time) time.Time {
	if at.IsZero() {
		return time.Time{}
	}
	return at.UTC().Truncate(time.Millisecond)
}

// Encode is the event on one line, with the newline. It is ASCII without control characters, and what means something
// in HTML is escaped, too: a line can be shown anywhere as it is.
func (e *Event) Encode() []byte {
	line, err := json.Marshal(e)
	if err != nil { // a time out of JSON's range
		line, _ = json.Marshal(&Event{V: Version, ID: e.ID, Seq: e.Seq, Type: e.Type, Source: e.Source, Job: e.Job,
			Node: e.Node})
	}
	return append(ascii.Escape(line), '\n')
}

// AfterDropped tells, before e, that n events are missing.
func (e *Event) AfterDropped(n int64) Event {
	return Event{
		V: e.V, ID: fmt.Sprintf("%s-%d-dropped", e.Source, e.Seq), Seq: e.Seq, At: e.At, Type: EventsDropped,
		Source: e.Source, Job: e.Job, Node: e.Node, Role: e.Role, Run: e.Run, Dropped: &Dropped{Count: n},
	}
}

// Errors of Parse.
var (
	ErrVersion = errors.New("an event of a version that is not known")
	ErrForm    = errors.New("no event")
)

// Parse reads one line. Keys and types that are not known are no errors.
func Parse(line []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, fmt.Errorf("%w: %v", ErrForm, err)
	}
	switch {
	case e.V != Version:
		return Event{}, fmt.Errorf("%w: v is %d", ErrVersion, e.V)
	case e.ID == "" || e.Source == "" || e.Type == "" || e.At.IsZero() || e.Seq < 1:
		return Event{}, fmt.Errorf("%w: id, source, seq, at and type have to be there", ErrForm)
	}
	return e, nil
}

// Problem is a line that could not be read.
type Problem struct {
	Line int // from 1
	Err  error
}

// Read reads events from r, one on each line, and gives each to take. An invalid line is a problem, most often the
// last one of a machine that went down; the rest is read all the same. The error is r's own.
func Read(r io.Reader, take func(Event)) (problems []Problem, err error) {
	const mostProblems = 100
	in := bufio.NewReaderSize(r, MaxLine)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		tooLong := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return problems, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			e, problem := Event{}, fmt.Errorf("%w: longer than %d bytes", ErrForm, MaxLine)
			if !tooLong {
				e, problem = Parse(line)
			}
			switch {
			case problem == nil:
				take(e)
			case len(problems) < mostProblems:
				problems = append(problems, Problem{n, problem})
			}
		}
		if err == io.EOF {
			return problems, nil
		}
	}
}
