package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
	"github.com/gangrun/gangrun/internal/plain"
)

// row is one checkpoint as a person reads it.
type row struct {
	chosen bool
	cells  []string // as columns
	colour string   // of the state, as an SGR parameter
	detail string
}

// columns are the headings of a table of checkpoints. The path is the last: nothing has to be aligned after it.
var columns = []struct {
	name  string
	right bool
}{{"STEP", true}, {"FORMAT", false}, {"SIZE", true}, {"AGE", true}, {"STATE", false}, {"REASON", false}, {"PATH", false}}

const (
	stateColumn = 4
	red         = "31"
	green       = "32"
	yellow      = "33"
)

// rowOf describes a checkpoint. passed says why it is not chosen although it is whole; it may be empty.
func rowOf(c *format.Checkpoint, passed problem.Error, chosen bool, now time.Time) row {
	r := row{chosen: chosen, detail: c.Detail}
	state, reason := "complete", c.Reason
	r.colour = green
	switch {
	case c.Reason.Unknown():
		state, r.colour = "unknown", yellow
	case c.Reason == problem.InProgress || c.Reason == problem.OverwriteInProgress || c.Reason == problem.UnfinishedMarker:
		state, r.colour = "in progress", yellow
	case !c.Complete:
		state, r.colour = "torn", red
	case c.Reason == problem.WeightsOnly:
		state, r.colour = "weights only", yellow
	case !c.Resumable:
		state, r.colour = "not resumable", yellow
	case passed.Reason != "":
		state, reason, r.detail, r.colour = "passed over", passed.Reason, passed.Detail, yellow
	}
	step := "-"
	if c.Step >= 0 {
		step = strconv.FormatInt(c.Step, 10)
	}
	r.cells = []string{step, c.Format, size(uint64(max(c.Size, 0))), age(c.Modified, now), state, dash(string(reason)), quoted(c.Path)}
	return r
}

// writeTable writes rows in columns, each with its detail on a line of its own: details are sentences with paths in them,
// and would make the table wider than any terminal.
func writeTable(w io.Writer, rows []row, colours bool) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = len(c.name)
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r.cells[i]))
		}
	}
	line := func(mark string, cells []string, colour string) {
		var b strings.Builder
		b.WriteString(mark)
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if colours && colour != "" && i == stateColumn {
				cell = "\x1b[" + colour + "m" + cell + "\x1b[0m"
			}
			switch {
			case columns[i].right:
				cell = pad + cell
			case i < len(cells)-1:
				cell += pad
			}
			b.WriteString(" " + cell)
			if i < len(cells)-1 {
				b.WriteString(" ")
			}
		}
		fmt.Fprintln(w, b.String())
	}
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.name
	}
	line(" ", heads, "")
	for _, r := range rows {
		mark := " "
		if r.chosen {
			mark = "*"
		}
		line(mark, r.cells, r.colour)
		if r.detail != "" {
			fmt.Fprintf(w, "%s%s\n", strings.Repeat(" ", widths[0]+4), plain.Text(r.detail))
		}
	}
}

// age is how long ago something was, in the largest unit of which there are two.
func age(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := now.Sub(t)
	switch {
	case d < -time.Second:
		return "future"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", max(0, d/time.Second))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// quoted is a name as it is, or in quotes if something in it cannot be printed.
func quoted(s string) string {
	if plain.Is(s) && s != "" {
		return s
	}
	return strconv.Quote(s)
}
