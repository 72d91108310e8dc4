package command

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"

	"github.com/gangrun/gangrun/exitcodes"
)

// workersPart is what the workers of the last round that failed have printed, in a log that gangrun's own lines are in.
type workersPart struct {
	text   []byte
	status exitcodes.Status // of the worker that the run found guilty, as gangrun's lines say
	own    bool             // there are lines of gangrun's
	known  bool             // they say the status
}

var (
	ownLine    = regexp.MustCompile(`^time=\S+ level=[A-Z]+ msg=("(?:[^"\\]|\\.)*"|\S+)(?: verdict=(\S+))?`)
	ownFailed  = regexp.MustCompile(`^failed \(exitcode: (-?\d+)\)`)
	ownLaunch  = regexp.MustCompile(`\(the launcher exited (\d+)\)`)
	ownExited  = regexp.MustCompile(`\bexited (\d+)\b`)
	ownSignal  = regexp.MustCompile(`\bwas killed by (SIG[A-Z0-9+-]+)`)
	ownReport  = []byte("torch.distributed.elastic.multiprocessing.errors.ChildFailedError")
	restarting = "restarting"
)

// withoutOwn takes gangrun's own lines out of a log, those of earlier rounds, and the report at the end of launch: they
// report the failure, and are no evidence of it.
func withoutOwn(log []byte) workersPart {
	var p workersPart
	launched := false
	for line := range bytes.Lines(log) {
		if launched && bytes.HasPrefix(line, ownReport) {
			break
		}
		msg, verdict, own := readOwn(line)
		if !own {
			p.text = append(p.text, line...)
			continue
		}
		p.own = true
		failed := ownFailed.FindStringSubmatch(msg)
		switch {
		case msg == restarting:
			p.text, p.known, launched = nil, false, false
		case failed != nil:
			launched = true
		case verdict != "" && !p.known:
			p.status, p.known = statusIn(msg)
		}
	}
	return p
}

// readOwn reads a line of gangrun's own log, as text or as JSON.
func readOwn(line []byte) (msg, verdict string, own bool) {
	line = bytes.TrimSpace(line)
	if m := ownLine.FindSubmatch(line); m != nil {
		msg = string(m[1])
		if unquoted, err := strconv.Unquote(msg); err == nil {
			msg = unquoted
		}
		return msg, string(m[2]), true
	}
	var fields struct{ Time, Level, Msg, Verdict string }
	if !bytes.HasPrefix(line, []byte(`{"time":"`)) || json.Unmarshal(line, &fields) != nil || fields.Level == "" || fields.Msg == "" {
		return "", "", false
	}
	return fields.Msg, fields.Verdict, true
}

// statusIn is how the worker ended, in the words of a verdict.
func statusIn(msg string) (exitcodes.Status, bool) {
	if m := ownLaunch.FindStringSubmatch(msg); m != nil { // the failed rank is in its report
		n, err := strconv.Atoi(m[1])
		return exitcodes.Status{Code: n}, err == nil && n < 256
	}
	if m := ownSignal.FindStringSubmatch(msg); m != nil {
		n, err := exitcodes.ParseSignal(m[1])
		return exitcodes.Status{Signal: n}, err == nil
	}
	if m := ownExited.FindStringSubmatch(msg); m != nil {
		n, err := strconv.Atoi(m[1])
		return exitcodes.Status{Code: n}, err == nil && n < 256
	}
	return exitcodes.Status{}, false
}
