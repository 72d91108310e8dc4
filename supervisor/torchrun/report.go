package torchrun

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/plain"
)

// Failure is a worker that did not end well.
type Failure struct {
	Rank, LocalRank int
	PID             int
	ExitCode        int    // its own, 0 when a signal ended it
	Signal          int    // that ended it, or 0
	Host            string // of its node
	At              time.Time
	ErrorFile       string // path of the error file
	Content         []byte // of the error file; nil when there is none
}

const (
	notAvailable = "<N/A>"
	noTraceback  = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
	maxBorder    = 60
)

// Report is the text of torchrun's failure report, from the name of its exception to the lower border: the other
// failures in their order, then the root cause. title is [Options.Title], root an index into failures.
func Report(title string, failures []Failure, root int) string {
	title += " FAILED"
	width := utf8.RuneCountInString(title)
	cause, others := "", []string(nil)
	for i, f := range failures {
		text := f.format(i)
		for line := range strings.SplitSeq(text, "\n") {
			width = max(width, utf8.RuneCountInString(line))
		}
		if i == root {
			cause = text
		} else {
			others = append(others, text)
		}
	}
	if others == nil {
		others = []string{"  <NO_OTHER_FAILURES>"}
	}
	width = min(width, maxBorder)
	border, section := strings.Repeat("=", width), strings.Repeat("-", width)
	return strings.Join([]string{
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
		border, title, section,
		"Failures:", strings.Join(others, "\n"), section,
		"Root Cause (first observed failure):", cause, border,
	}, "\n") + "\n"
}

// FailedLine is what torchrun logs when a worker failed. binary is the program that was started.
func (o Options) FailedLine(f Failure, binary string) string {
	of := "binary: " + binary
	if o.RunPath {
		of = fmt.Sprintf("fn: %s (start_method: %s)", o.Title(), o.StartMethod)
	}
	return fmt.Sprintf("failed (exitcode: %d) local_rank: %d (pid: %d) of %s", f.status(), f.LocalRank, f.PID, of)
}

// status is the exit code as Python's Popen gives it: negative for a signal.
func (f Failure) status() int {
	if f.Signal != 0 {
		return -f.Signal
	}
	return f.ExitCode
}

// told is what a failure says of itself.
type told struct {
	message string
	second  int64
	file    string
}

// told reads the error file. torchrun ends with an error of its own if it cannot; here that counts as no file. Without a time
// in it, it is the time at which the failure was seen.
func (f Failure) told() told {
	t := told{second: f.At.Unix(), file: notAvailable}
	if content, err := exitcodes.ParseErrorFile(f.Content); f.Content != nil && err == nil {
		t.file, t.message = f.ErrorFile, content.Callstack
		if t.message == "" {
			t.message = content.Message
		}
		if !content.At.IsZero() {
			t.second = content.At.Unix()
		}
	}
	switch {
	case t.message != "":
	case f.Signal != 0:
		name, ok := signalName(f.Signal)
		if !ok {
			name = notAvailable
		}
		t.message = fmt.Sprintf("Signal %d (%s) received by PID %d", f.Signal, name, f.PID)
	default:
		t.message = noTraceback
	}
	return t
}

func (f Failure) format(index int) string {
	t := f.told()
	name := ""
	if text, ok := signalName(f.Signal); ok {
		name = " (" + text + ")"
	}
	return strings.Join([]string{
		"[" + strconv.Itoa(index) + "]:",
		"  time      : " + time.Unix(t.second, 0).In(f.At.Location()).Format("2006-01-02_15:04:05"),
		"  host      : " + f.Host,
		fmt.Sprintf("  rank      : %d (local_rank: %d)", f.Rank, f.LocalRank),
		fmt.Sprintf("  exitcode  : %d (pid: %d) %s", f.status(), f.PID, name),
		"  error_file: " + t.file,
		"  traceback : " + strings.ReplaceAll(plain.Lines(t.message), "\n", "\n  "), // the rank's own words
	}, "\n")
}

// signalName is the name that Python has for a signal; it has none between SIGRTMIN and SIGRTMAX.
func signalName(n int) (string, bool) {
	const sigsys, sigrtmin, sigrtmax = 31, 34, 64
	switch {
	case n == sigrtmax:
		return "SIGRTMAX", true
	case n >= 1 && n <= sigsys || n == sigrtmin:
		return exitcodes.SignalName(n), true
	}
	return "", false
}
