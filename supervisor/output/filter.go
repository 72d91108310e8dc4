package output

import (
	"bytes"
	"slices"
)

// Filter shows those lines of a stream that contain one of some texts, on a console of their own: most often a file
// that the streams of several workers share.
type Filter struct {
	Console  *Console
	Prefix   string // before each line, as on the stream's own console
	Contains []string
}

// filtering is the state of a stream's filter; it belongs to the reading goroutine.
type filtering struct {
	Filter
	source source
	lines  lines
}

func newFiltering(f *Filter) *filtering {
	if f == nil {
		return nil
	}
	return &filtering{
		Filter: *f, lines: lines{prefix: f.Prefix}, source: source{hurry: make(chan struct{}, 1)},
	}
}

func (f *filtering) pass(p []byte) {
	for len(p) > 0 {
		var out []byte
		out, p = f.lines.format(nil, p)
		f.put(out)
	}
}

func (f *filtering) finish() { f.put(f.lines.flush(nil)) }

func (f *filtering) put(out []byte) {
	var wanted []byte
	for line := range bytes.Lines(out) {
		text := line[min(len(f.Prefix), len(line)):]
		if slices.ContainsFunc(f.Contains, func(s string) bool { return bytes.Contains(text, []byte(s)) }) {
			wanted = append(wanted, line...)
		}
	}
	if len(wanted) > 0 {
		f.Console.put(&f.source, wanted, false)
	}
}
