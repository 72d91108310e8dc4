package exitcodes

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// toldDeath is the line in which a shell, a launcher or the process itself tells of its death by the signal: "Killed", "exited on
// signal 9 (Killed)", "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT ...". It decides nothing, but it is what a person
// looks for where the status itself says only a number. Only the last lines are read, from the end back to what the program
// did before. Empty when there is none.
func (r *reader) toldDeath(signal int) (told string) {
	if r.code < 0 {
		return ""
	}
	seen := 0
	for i := len(r.lines) - 1; i >= 0 && seen < backtrace; i-- {
		l := &r.lines[i]
		if l.kind == kindWork {
			break
		}
		if r.inside[i] || l.blank() || indent(l.text) > 2 || l.says("Sending process ") {
			continue
		}
		seen++
		text := l.text[:min(len(l.text), maxDeath)]
		switch {
		case !r.meter.afford(3, len(text)):
		case told == "" && (tellsDeath(text, signal) || tellsDeath(l.text[len(l.text)-len(text):], signal)): // behind a bar, whose line had no end
			told = l.shown()
		case stopped(text, signal): // whoever sent the signal says more than those who saw it come
			return l.shown()
		}
	}
	return told
}

// stopped reports whether Slurm says that it ends a step or a job, as it does by these signals.
func stopped(text []byte, signal int) bool {
	return (signal == sigterm || signal == sigkill || signal == sigint) && bytes.Contains(text, []byte("LED AT ")) && cancelled().Match(text)
}

// crashTold is the line in which a process that died of a crash says what was wrong, as a failed assertion does, where nothing
// knows what that means; else the one that tells of the death.
func (r *reader) crashTold(signal int) string {
	told, seen, late := "", 0, 0
	for i := len(r.lines) - 1; i >= 0 && seen < backtrace; i-- {
		l := &r.lines[i]
		if l.kind == kindWork { // of another thread, or late from a buffer
			late++
		}
		if late > maxLate {
			break
		}
		asserts := l.contains("Assertion `") && l.contains("' failed") // which aborts, whatever other threads print meanwhile
		if l.blank() || r.inside[i] || late > 0 && !asserts {
			continue
		}
		if seen++; asserts || (l.fatal || l.contains("Check failed: ", "Assertion `", "assertion failed: ", "what(): ", "Attempt to free invalid pointer", "A fatal error has been detected by the Java Runtime", "free(): ", "double free or corruption", "malloc(): ", "munmap_chunk(): ", "corrupted size vs. prev_size", "stack smashing detected", "*** Break *** ") || asserted(l.text)) && l.kind != kindSurvived {
			told = l.shown() // the first one: what is said after it comes of it
		}
	}
	for i := len(r.lines) - 1; i >= 0 && told == ""; i-- { // which says nothing of why, but whose doing it was
		if l := &r.lines[i]; l.says("Some NCCL operations have failed or timed out") && r.workAfter(i, l.tag) == 0 {
			told = l.shown()
		}
	}
	if told != "" {
		return told
	}
	return r.toldDeath(signal)
}

const (
	maxDeath = 400 // bytes at the start of such a line
	maxLate  = 3   // lines of work that come after it
)

// tellsDeath reports whether a line tells of a death by the signal.
func tellsDeath(text []byte, signal int) bool {
	text = bytes.TrimSpace(text)
	if stopped(text, signal) {
		return true
	}
	if m := zshDeath().FindSubmatch(text); m != nil {
		return zshWords[string(m[1])] == signal
	}
	if m := exitedPattern().FindSubmatch(text); m != nil && string(m[1]) == strconv.Itoa(CodeSignalBase+signal) {
		return true
	}
	m := deathPattern().FindSubmatch(text)
	if m == nil {
		said, _ := translatedDeath(text)
		return said == signal
	}
	said := string(bytes.TrimPrefix(bytes.Join(m[1:], nil), []byte("-")))
	if n, err := strconv.Atoi(said); err == nil {
		return n == signal
	}
	return signalWords[said] == signal || "SIG"+strings.TrimPrefix(said, "SIG") == SignalName(signal)
}

var cancelled = lazy(`\*\*\* (?:STEP|JOB) \S+ (?:ON \S+ )?(?:CANCELLED|KILLED) AT `)

// zshDeath is how zsh tells that a child was killed, or one that it has put into the background.
var zshDeath = lazy(`^(?:zsh: |\[\d+\] +[+-]? *\d+ )(killed|terminated|segmentation fault|bus error|abort|illegal hardware instruction|floating point exception|trace trap|hangup)(?: \(core dumped\))?(?: {2,}|$)`)

// zshWords are what zsh calls signals.
var zshWords = map[string]int{
	"killed": sigkill, "terminated": sigterm, "segmentation fault": sigsegv, "bus error": sigbus, "abort": sigabrt,
	"illegal hardware instruction": sigill, "floating point exception": sigfpe, "trace trap": sigtrap, "hangup": sighup,
}

// signalWords are what the C library calls signals.
var signalWords = map[string]int{
	"Killed": sigkill, "Terminated": sigterm, "Segmentation fault": sigsegv, "Bus error": sigbus, "Aborted": sigabrt,
	"Illegal instruction": sigill, "Floating point exception": sigfpe, "Trace/breakpoint trap": sigtrap, "Bad system call": sigsys, "Hangup": sighup,
}

var deathPattern func() *regexp.Regexp = lazy(`(?:^|[\d\]]| [\\|/-])(` + wordsOfSignals + `)(?:: \d+)?(?: ?\(core dumped\))?$|: line \d+: +\d+ (` + wordsOfSignals + `)\b|` +
	`: tasks? [\d,-]+: (` + wordsOfSignals + `)(?: \(core dumped\))?$|^Fatal Python error: (` + wordsOfSignals + `)|` +
	`\b(SIG[A-Z]+\d?)\b|\b[Ss]ignal:? \(?(\d+)\b|\b[Ss]ignal: ? ?(` + wordsOfSignals + `) \(\d+\)|\bsignal: ?(` + wordsOfSignals + `)|` +
	`(?:return code =|exitcode:|[Ee]xit ?[Cc]ode:?) -(\d+)\b`)

// exitedPattern is how those who started a process say with which code it ended, as a shell makes it of the signal.
var exitedPattern = lazy(`\b[Ee]xit (?:code|status)(?: (?:is|of))?:? ?\(?(\d{3})\b`)

const wordsOfSignals = `Killed|Terminated|Segmentation fault|Bus error|Aborted|Illegal instruction|Floating point exception|Trace/breakpoint trap|Bad system call|Hangup`
