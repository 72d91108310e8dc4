package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/output"
)

// logged is how a log is judged.
type logged struct {
	Verdict    exitcodes.Verdict `json:"verdict"`
	Reason     string            `json:"reason"`
	Message    string            `json:"message"`
	ExitCode   int               `json:"exitCode"`
	Rule       string            `json:"rule,omitempty"`
	Evidence   string            `json:"evidence"`
	Other      string            `json:"other,omitempty"`   // the other candidate
	Unknown    bool              `json:"unknown,omitempty"` // nothing is known about the end but its code
	PassedOver []string          `json:"passedOver,omitempty"`
	Lines      []loggedLine      `json:"lines,omitempty"` // that a rule fits
	Survived   []loggedLine      `json:"survived,omitempty"`
	LastWords  []loggedLine      `json:"lastWords,omitempty"`
	Noise      []loggedLine      `json:"noise,omitempty"`
}

type loggedLine struct {
	Number int    `json:"number"` // within the end of the log that is read, from 1
	Rule   string `json:"rule,omitempty"`
	Role   string `json:"role,omitempty"`
	Text   string `json:"text"`
}

func loggedLines(list []exitcodes.ReadLine) []loggedLine {
	var lines []loggedLine
	for _, l := range list {
		line := loggedLine{Number: l.Number, Rule: l.Rule, Text: l.Text}
		if l.Rule != "" {
			line.Role = l.Role.String()
		}
		lines = append(lines, line)
	}
	return lines
}

// log judges a log as the supervisor would judge the worker that printed it: by its end. Where gangrun's own lines are in
// it, they say how the worker ended, unless the code is given.
func (e explainer) log(path string, code int, given bool) error {
	text, err := readTail(path, output.TailSize)
	if err != nil {
		return &absentError{"--log: " + err.Error()}
	}
	empty := len(bytes.TrimSpace(text)) == 0
	if empty && !given {
		return &configError{fmt.Sprintf("--log %s: the log is empty, so there is nothing to judge; what a worker's exit code alone means: gangrun explain CODE", path)}
	}
	status, ended := exitcodes.Status{Code: code}, fmt.Sprintf("with exit code %d", code)
	if !given {
		ended += " (assumed, since --code is not given)"
	}
	part := withoutOwn(text)
	if part.own && part.known && !given {
		status = part.status
		if ended = fmt.Sprintf("with exit code %d, as gangrun's own lines say", status.Code); status.Signal != 0 {
			ended = fmt.Sprintf("killed by %s, as gangrun's own lines say", exitcodes.SignalName(status.Signal))
		}
	}
	o := exitcodes.Outcome{Rank: -1, LocalRank: -1, Status: status, Output: part.text}
	f := exitcodes.Judge(o, e.rules())
	r := exitcodes.Read(o, f, e.rules())
	if e.json {
		return e.encode(logged{Verdict: f.Verdict, Reason: f.Reason, Message: f.Message, ExitCode: f.Code, Rule: f.Rule, Evidence: f.Evidence,
			Other: f.Other, Unknown: f.Unknown, PassedOver: r.PassedOver, Lines: loggedLines(r.Rules), Survived: loggedLines(r.Survived),
			LastWords: loggedLines(r.LastWords), Noise: loggedLines(r.Noise)})
	}
	for _, l := range r.Rules {
		fmt.Fprintf(e.out, "%6d  %-22s %-8s %s\n", l.Number, l.Rule, l.Role, l.Text)
	}
	switch {
	case len(r.Rules) > 0:
	case empty:
		fmt.Fprintln(e.out, "the log is empty")
	case f.Rule != "":
		fmt.Fprintln(e.out, "no listed rule fits a line; the last words decide")
	default:
		fmt.Fprintln(e.out, "no rule fits any line")
	}
	e.section("survived", r.Survived)
	e.section("noise", r.Noise)
	e.section("last words", r.LastWords)
	if f.Rule != "" {
		fmt.Fprintf(e.out, "\ndecided by %s: %s\n", f.Rule, f.Evidence)
	} else if !strings.Contains(f.Message, f.Evidence) { // what tells of a death decides nothing
		fmt.Fprintf(e.out, "\ndecided by the exit code; the line that tells most: %s\n", f.Evidence)
	}
	if len(r.PassedOver) > 0 {
		fmt.Fprintf(e.out, "\npassed over: %s\n", strings.Join(r.PassedOver, ", "))
	}
	fmt.Fprintf(e.out, "\n%s: %s (%s), gangrun would exit with %d\n%s\n", ended, f.Verdict, f.Reason, f.Code, f.Message)
	return nil
}

// section shows the lines of one kind, the last ones if there are many.
func (e explainer) section(name string, lines []exitcodes.ReadLine) {
	const most = 30
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(e.out, "\n%s:\n", name)
	if over := len(lines) - most; over > 0 {
		fmt.Fprintf(e.out, "        (%d more)\n", over)
		lines = lines[over:]
	}
	for _, l := range lines {
		fmt.Fprintf(e.out, "%6d  %s\n", l.Number, l.Text)
	}
}

// readTail reads the last bytes of a file or, for "-", of standard input: from the start of a line, unless a line is as long
// as half of them, as the bars of a whole epoch are.
func readTail(path string, most int) ([]byte, error) {
	in := os.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	var tail []byte
	cut := false
	buf := make([]byte, 256<<10)
	for {
		n, err := in.Read(buf)
		tail = append(tail, buf[:n]...)
		if len(tail) > most {
			tail, cut = append(tail[:0], tail[len(tail)-most:]...), true
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if i := bytes.IndexByte(tail[:len(tail)/2], '\n'); cut && i >= 0 {
		tail = tail[i+1:]
	}
	return tail, nil
}
