package exitcodes

import (
	"bytes"
	"regexp"
	"strconv"
)

// wordsOutcome are in every line that one of the expressions below fits; the trait is set by them.
var wordsOutcome = wordings.list("failed", "exit", "ended", "finished", "terminated", "aborted", "crashed", "returned", "return status", "completed", "end time", "end: ", "elapsed")

// A line that gives an exit code, and no reason beside it. What is 400 and above is a server's status.
var outcomeCode = lazy(`(?i)(?:\bexit(?:ed)?|\breturn(?:ed)?|\bfinished|\bended|\bterminated|\bfailed|\bcompleted|\bstopped)\b` +
	`[^:]{0,60}?\b(?:with|code|status|exit_code|exitcode)(?: was\b)?[ :=]*(?:\[-?)?` + anExitCode + `["'.,)\]!]*(?:,? (?:last available|` + seeAlso + `after \d).*)?$` +
	`|^exit_?code:? \d+$`)

// A line that says that a part of the run has failed, and no reason either.
var outcomeAlone = lazy(`(?i)(?:^|\berror - )\W*(?:(?:error|fatal|critical|failure|failed)\W+)?(?:the |a |your )?` + partOfARun + itsName +
	` (?:has |have )?(?:failed|exited|ended|finished|terminated|aborted|crashed)(?: with (?:exception|errors?))?` +
	`\W*(?:,? ?(?:` + seeAlso + `look |after \d|at \d|sending ).*)?$`)

// A line that tells when it ended, or how long it took.
var outcomeTime = lazy(`(?i)^\W*(?:job |run |training |script )?(?:end|ended|end time|finish|finished|elapsed|elapsed time|done)\b` +
	`[ :@a-z]{0,8}` + aTime + `(?:with status \d+|s|sec|seconds)?\W*$`)

// What these are made of.
const (
	anExitCode = `(?:[1-9]\d?|1\d\d|2[0-5]\d)`                                             // up to 259: 256 is a 1 as wait returns it
	seeAlso    = `see |check |exiting|aborting|stopping|quitting|giving up|shutting down|` // where there is more
	partOfARun = `(?:training|job|task|step|run|script|command|process|program|pipeline|workflow|flow|experiment|trial|container|pod|stage|main)\b`
	itsName    = `(?: ?["'<\[#]?[\w./:-]+["'>\]]?){0,2}?`
	aTime      = `(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +)?(?:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* +)?\d[\d :.,/TZ+-]*(?:(?:am|pm) ?)?(?:(?:utc|gmt|[cmpe][sde]s?t|wes?t|bst|ist|jst|kst|msk|aes?t) ?)?(?:\d{4})?`
)

// tellsOutcome reports whether a line says of a run, or a part of one, only that it has failed or ended, as whatever has started it
// does. Why stands before it.
func (r *reader) tellsOutcome(l *line) bool {
	text := l.text[:min(len(l.text), maxOutcome)]
	if !l.is(traitOutcome) || l.says("Curl returned error code ") || !r.meter.afford(outcomePasses, len(text)) { // curl's tells why
		return false
	}
	return outcomeCode().Match(text) || outcomeAlone().Match(text) || outcomeTime().Match(text) || r.passesOn(text)
}

// passesOn reports whether a line says that something failed with the code with which the process itself ended: so a script tells of a
// command whose code it passes on, whatever it does not do after that. Why, the command has said.
func (r *reader) passesOn(text []byte) bool {
	if r.code <= 2 || r.code >= CodeSignalBase { // which many commands end with
		return false
	}
	for _, pattern := range []func() *regexp.Regexp{outcomeOwn, outcomeBare} {
		if m := pattern().FindSubmatch(text); m != nil && string(m[1]) == strconv.Itoa(r.code) {
			return true
		}
	}
	return false
}

var outcomeOwn = lazy(`(?i)\b(?:failed|exited|ended|finished|terminated|aborted|crashed|returned)[ :,]*[(\[]?(?:with |on )?(?:an? )?(?:non-?zero )?` +
	`(?:rc|ret|(?:exit|return|error)? ?(?:code|status))[ =:]*(\d+)["'.)\]!]*(?:,? (?:not|skipping|` + seeAlso + `after) .*)?$`)

var outcomeBare = lazy(`(?i)\bexited (\d+)$`)

const (
	maxOutcome    = 240 // bytes of such a line
	outcomePasses = 4
)

// tellsDone reports whether kubectl says that what it was to do is done: what a script tidies up is nothing that went wrong.
func tellsDone(l *line) bool { return kubectlDone().Match(l.text[:min(len(l.text), maxOutcome)]) }

// kubectlDone is such a line, with a kind and a name: `pod "a" deleted`, "pod/a created".
var kubectlDone = lazy(`^(?:[\w.-]+ "[\w.-]+"|[\w.-]+/[\w.-]+) (?:force )?(?:deleted|created|configured|unchanged|patched|annotated|labeled|scaled)\s*$`)

// ofShell reports whether a shell says in a line of which line of its script it speaks: "run.sh: line 7: x: command not found", "sh: 1: x: not found".
func ofShell(text []byte) bool {
	script, rest, found := bytes.Cut(text[:min(len(text), 200)], []byte(": "))
	if !found || bytes.IndexByte(script, ' ') >= 0 || !bytes.HasSuffix(script, []byte("sh")) && !bytes.HasSuffix(script, []byte("slurm_script")) {
		return false
	}
	number, _, found := bytes.Cut(bytes.TrimPrefix(rest, []byte("line ")), []byte(": "))
	return found && digits(string(number))
}
