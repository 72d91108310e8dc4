package exitcodes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ErrorFile is what a worker left in TORCHELASTIC_ERROR_FILE (torch.distributed.elastic.multiprocessing.errors).
type ErrorFile struct {
	Message   string // "ValueError: boom"
	Callstack string
	At        time.Time // whole seconds; zero when not given
	ErrorCode int       // the failed rank's status as Popen gives it, -9 for SIGKILL; set by torchrun only, else 0
}

// ParseErrorFile reads both forms of the file: {"message": {"message": …, "extraInfo": {…}, "errorCode": n}} and the
// older {"message": "…", "timestamp": n}.
func ParseErrorFile(data []byte) (ErrorFile, error) {
	var outer struct {
		Message   json.RawMessage `json:"message"`
		Timestamp json.RawMessage `json:"timestamp"`
	}
	if err := json.Unmarshal(data, &outer); err != nil {
		return ErrorFile{}, fmt.Errorf("error file: %w", err)
	}
	var text string
	if json.Unmarshal(outer.Message, &text) == nil {
		return ErrorFile{Message: text, At: unixSeconds(outer.Timestamp)}, nil
	}
	var inner struct {
		Message   string `json:"message"`
		ExtraInfo struct {
			Callstack string          `json:"py_callstack"`
			Timestamp json.RawMessage `json:"timestamp"`
		} `json:"extraInfo"`
		ErrorCode int `json:"errorCode"`
	}
	if err := json.Unmarshal(outer.Message, &inner); err != nil {
		return ErrorFile{}, fmt.Errorf("error file: its message: %w", err)
	}
	return ErrorFile{
		Message: inner.Message, Callstack: inner.ExtraInfo.Callstack,
		At: unixSeconds(inner.ExtraInfo.Timestamp), ErrorCode: inner.ErrorCode,
	}, nil
}

// unixSeconds reads a time that is written as a number or as a string of one.
func unixSeconds(raw json.RawMessage) time.Time {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || n <= 0 || n > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(n), 0)
}

// ReportedFailure is one worker in torchrun's failure report.
type ReportedFailure struct {
	Rank, LocalRank int
	Host            string
	Status          Status
	At              time.Time // whole seconds of local time; zero when not readable
	Traceback       string    // what follows "traceback :" when it is one
	First           bool      // torchrun called it the root cause: the first it observed
}

const (
	childFailed = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError"
	rootSection = "Root Cause (first observed failure):"
	traceback   = "Traceback (most recent call last):"
)

var (
	reportRank = lazy(`^\s*rank\s*: (\d+) \(local_rank: (\d+)\)`)
	reportCode = lazy(`^\s*exitcode\s*: (-?\d+) \(pid: -?\d+\)`)
	reportAt   = lazy(`^\s*time\s*: (\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d)`)
	reportHost = lazy(`^\s*host\s*: (.+)`)
	reportItem = lazy(`^\[\d+\]:$`)
)

// maxFailures are the failures of a report that are read: far more than a node has ranks.
const maxFailures = 1024

// ParseReport finds the last failure report that torchrun printed in output. rest is what was printed before
// torchrun's own traceback, which says nothing about the workers.
func ParseReport(output []byte) (failures []ReportedFailure, rest []byte) {
	at := findChildFailed(output)
	if at < 0 || !bytes.Contains(output[at:], []byte(rootSection)) {
		return nil, output
	}
	rest = output[:at]
	if tb := bytes.LastIndex(rest, []byte(traceback)); tb >= 0 {
		rest = rest[:tb]
	}
	var current *ReportedFailure
	inRoot, inTraceback := false, false
	head := output[bytes.LastIndexAny(output[:at], "\r\n")+1 : at] // what a shipper puts before every line
	for line := range bytes.Lines(output[at:]) {
		line = bytes.TrimRight(line, "\r\n")
		if len(head) > 0 && len(head) <= maxShipped && len(line) >= len(head) && sameButDigits(line[:len(head)], head) {
			line = line[len(head):]
		}
		switch {
		case string(line) == rootSection:
			inRoot, inTraceback = true, false
			current, failures = nil, failures[:min(len(failures), maxFailures-1)] // room for the root cause
		case len(line) < 12 && reportItem().Match(line) && len(failures) == maxFailures:
			current = nil
		case len(line) < 12 && reportItem().Match(line):
			failures = append(failures, ReportedFailure{Rank: -1, LocalRank: -1, First: inRoot})
			current = &failures[len(failures)-1]
			inTraceback = false
		case current == nil:
		case inTraceback && bytes.HasPrefix(line, []byte("  ")):
			current.Traceback += string(line[2:]) + "\n"
		default:
			inTraceback = current.field(line)
		}
	}
	return failures, rest
}

// findChildFailed finds the last heading of a report, which rich prints without the package; -1 when there is none.
func findChildFailed(output []byte) int {
	class := []byte(childFailed[strings.LastIndexByte(childFailed, '.')+1:])
	for end := len(output); ; {
		at := bytes.LastIndex(output[:end], class)
		if at < 0 {
			return -1
		}
		whole := at + len(class) - len(childFailed)
		if whole >= 0 && bytes.HasPrefix(output[whole:], []byte(childFailed)) {
			return whole
		}
		if at > 0 && output[at-1] == '\n' && bytes.HasPrefix(output[at+len(class):], []byte(":")) {
			return at - 1
		}
		end = at
	}
}

// field reads one line of an item and reports whether a traceback begins here.
func (f *ReportedFailure) field(line []byte) bool {
	name := bytes.TrimLeft(line[:min(len(line), 20)], " \t")
	is := func(field string) bool { return bytes.HasPrefix(name, []byte(field)) }
	if m := matchIf(is("rank"), reportRank, line); m != nil {
		f.Rank, _ = strconv.Atoi(string(m[1]))
		f.LocalRank, _ = strconv.Atoi(string(m[2]))
	} else if m := matchIf(is("exitcode"), reportCode, line); m != nil {
		switch n, err := strconv.Atoi(string(m[1])); {
		case err != nil || n < -sigmax || n > 255: // no status that a process can have
		case n < 0:
			f.Status = Status{Signal: -n}
		default:
			f.Status = Status{Code: n}
		}
	} else if m := matchIf(is("time"), reportAt, line); m != nil {
		f.At, _ = time.ParseInLocation("2006-01-02_15:04:05", string(m[1]), time.Local)
	} else if m := matchIf(is("host"), reportHost, line); m != nil {
		f.Host = string(m[1])
	} else if text, found := bytes.CutPrefix(line, []byte("  traceback : ")); found {
		f.Traceback = string(text) + "\n"
		return true
	}
	return false
}

// matchIf tries the expression only on a line that may fit it.
func matchIf(may bool, pattern func() *regexp.Regexp, line []byte) [][]byte {
	if !may {
		return nil
	}
	return pattern().FindSubmatch(line)
}
