package gang

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor"
)

// Table writes, for each rank of a round, its verdict, its exit code, how long it ran and its last line.
func Table(w io.Writer, round supervisor.Round) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "rank\tverdict\tcode\ttime\tlast line")
	for i, e := range round.Workers {
		verdict, line := string(e.Finding.Verdict), lastLine(e)
		if e.PID == 0 && (e.Stop == exitcodes.StoppedByGang || i == round.Cause) { // why is in the line about the cause, and said once
			line = "not started"
		}
		switch {
		case e.Stop == exitcodes.StoppedByGang && e.PID == 0:
			verdict = "-"
		case e.Stop == exitcodes.StoppedByGang:
			verdict = "stopped"
		case i == round.Cause:
			verdict += " *"
		}
		code := fmt.Sprint(e.Status.Number())
		if e.Status.Signal != 0 {
			code += " " + exitcodes.SignalName(e.Status.Signal)
		}
		if e.PID == 0 {
			code = "-"
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%v\t%s\n", e.Rank, verdict, code, e.At.Sub(e.StartedAt).Round(time.Millisecond), line)
	}
	t.Flush()
}

// lastLine is the last thing that the worker printed, or why it did not run, on one line of a terminal.
func lastLine(e supervisor.Ended) string {
	if e.PID == 0 {
		return e.Finding.Message
	}
	const most = 100
	lines := bytes.Split(bytes.TrimSpace(e.Output), []byte{'\n'})
	line := lines[len(lines)-1]
	if at := bytes.LastIndexByte(bytes.TrimRight(line, "\r"), '\r'); at >= 0 {
		line = line[at+1:] // the last state of a progress bar
	}
	var clean strings.Builder
	for _, r := range string(line) {
		if !unicode.IsPrint(r) {
			r = ' ' // nor may it move the cursor
		}
		if clean.Len() >= most {
			clean.WriteString("…")
			break
		}
		clean.WriteRune(r)
	}
	return strings.TrimSpace(clean.String())
}
