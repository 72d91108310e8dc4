package exitcodes

import (
	"bytes"
	"fmt"
	"strings"
)

func (f Finding) who() string {
	if f.Rank >= 0 {
		return fmt.Sprintf("rank %d", f.Rank)
	}
	return "the worker"
}

func answer(s Status) string {
	switch {
	case s.Signal != 0:
		return "was killed by " + SignalName(s.Signal)
	case s.Code > CodeSignalBase && s.Code < CodeSignalBase+sigrtmin:
		return fmt.Sprintf("exited %d (as a shell reports %s)", s.Code, SignalName(s.Code-CodeSignalBase))
	}
	return fmt.Sprintf("exited %d", s.Code)
}

// bareness is 1 when nothing but the exit code is known.
func (f Finding) bareness() int {
	if f.Rule == "" && f.Signal == 0 && f.WorkerCode != nil && (f.told != "" || f.Evidence == answer(Status{Code: *f.WorkerCode})) {
		return 1
	}
	return 0
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// clip bounds a line that goes into a sentence.
func clip(line string) string {
	const most = 300
	line = string(bytes.ToValidUTF8([]byte(line), []byte("?")))
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}
