package exitcodes

import (
	"bytes"
	"strconv"
	"strings"
)

// saysSignal are words of whoever tells of a signal, or of a shell's code for one.
var (
	signalTold = []string{"terminated with signal", "terminated by", "died with <signals.sig", "killed by signal", "received signal", "code -", "code: -", "code = -", "code:-", "status -",
		"on signal ", "of signal ", "(signal ", "(sig", "{sig", "signal (", "status of", "signal number", "severe (", "sigkill(", "sigsegv(", "sigabrt(", "sigbus(", "sigterm(", "sigfpe(", "sigill(", "sighup(", "sigint(", "sigquit(", "sigtrap(", "sigpipe(", "sigsys(", "sigxcpu(", "sigusr1(", "sigusr2(", "sigalrm(",
		"exit code 1", "exit status 1", "exit code: 1", "exit status: 1", "exitcode 1", "exitcode: 1", "exited with code 1", "exited with code: 1", "exited with status 1", "exited with status: 1"}
	saysSignal = phrases.list(signalTold...)
)

// shellCode is the code by which a shell tells that a child was killed, as one reads it who started the shell.
var shellCode = lazy(`(?i)\b(?:exit (?:code|status)|exitcode|exited with (?:code|status)|non-zero status of):? (1[2-5]\d)\b`)

var killedPattern = lazy(`terminated (?:with signal|by|by signal) (?:SIG)?([A-Z]+)|died with <Signals\.SIG([A-Z]+)|killed by signal:? (?:SIG)?(\w+)|received signal (?:SIG)?([A-Z]+)|(?:exits? with return code =|[Ee]xit ?code:?|crashed with exit code|exited with code|exit status|return code) -(\d+)|exit(?:ed)? on signal (\d+)|\bdied of signal (\d+)|died with status \d+ \(signal (\d+)\)|[Ss]ignal \d+ \(SIG([A-Z]+)\) received by PID|exit codes? \{?[^}]*SIG([A-Z]+)\(|^signal \((\d+)\): |'\] code -(\d+) log |non-zero status of (\d+) ?\(SIG|\bCaught signal number (\d+) |^forrtl: severe \(\d+\): SIG([A-Z]+)\b`)

// childKilled reads that a child died by a signal: the cause is not in these words, and mostly not in the program.
func childKilled(_, _ string, message []byte, h heard) family {
	if !h.any(saysSignal) {
		return family{}
	}
	m := killedPattern().FindSubmatch(message)
	if m == nil {
		if m = shellCode().FindSubmatch(message); m == nil {
			return family{}
		}
		if n, _ := strconv.Atoi(string(m[1])); n > CodeSignalBase && n <= CodeSignalBase+sigmax {
			return transient("killed", "ChildKilled", RoleSuspect)
		}
		return family{}
	}
	name := string(bytes.Join(m[1:], nil))
	n, err := strconv.Atoi(name)
	if err != nil {
		if n, err = ParseSignal(name); err != nil && name != "Segmentation" && name != "Bus" && signalWords[name] == 0 {
			return family{}
		}
	}
	if err == nil && (n <= 0 || n > sigmax) {
		return family{}
	}
	return transient("killed", "ChildKilled", RoleSuspect)
}

// shellKilled reports whether a line is what a shell says about a child that a signal killed.
func (l *line) shellKilled() bool { return l.is(traitShell) && shellKilled(l.text) }

// shellWords are those of which one is in any line that shellKilled knows, in lower case.
func shellWords() []string {
	words := []string{"killed"}
	for _, word := range crashNames {
		words = append(words, strings.ToLower(word))
	}
	for word := range translated() {
		words = append(words, strings.ToLower(word))
	}
	return words
}

// crashNames are what a shell calls deaths by a signal but SIGKILL.
var crashNames = []string{"Segmentation fault", "Bus error", "Aborted", "Illegal instruction", "Floating point exception"}

// shellKilled reads what a shell says about a child that a signal killed: "line 1: 1234 Killed  python train.py".
func shellKilled(text []byte) bool {
	if n := len(text) - len("Killed"); n > 0 && string(text[n:]) == "Killed" && text[n-1] >= '0' && text[n-1] <= ']' {
		return true // glued to a line that had no end yet
	}
	text = text[:min(len(text), 400)]
	if toldInEnglish(text) {
		return true
	}
	_, sure := translatedDeath(text)
	return sure
}

// toldInEnglish is shellKilled for a shell that speaks English.
func toldInEnglish(text []byte) bool {
	i := bytes.Index(text, []byte("Killed"))
	n := len("Killed")
	for _, word := range crashNames {
		if i < 0 {
			i, n = bytes.Index(text, []byte(word)), len(word)
		}
	}
	if i < 0 {
		return false
	}
	head, rest := bytes.TrimRight(text[:i], " "), bytes.TrimSpace(text[i+n:])
	if len(head) == 0 { // "Killed", "Segmentation fault (core dumped)"
		return len(rest) == 0 || bytes.Equal(rest, []byte("(core dumped)"))
	}
	last := head[bytes.LastIndexAny(head, " :")+1:]
	return digits(string(last)) && bytes.Contains(head, []byte(": "))
}
