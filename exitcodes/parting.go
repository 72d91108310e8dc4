package exitcodes

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// parting judges the last lines of a program that ended without an exception, as one in Go does, a command or a script
// that prints what went wrong and exits: a condition that passes, if one of them says so and none after it tells of
// something else. What is indented goes on a line before it. Its lines end before to.
func (r *reader) parting(to int) (Match, int, bool) {
	if !r.rules.families {
		return Match{}, 0, false
	}
	heads := 0
	var said after
	for i := to - 1; i >= 0 && to-i <= backtrace; i-- {
		l := &r.lines[i]
		if isRule(l.text) && !l.is(traitEcho) {
			break
		}
		if r.aside(i) {
			continue
		}
		if l.kind == kindWork || r.inside[i] || r.longBefore(i, to) {
			break
		}
		if !indented(l.text) {
			if heads++; heads > closing {
				break
			}
		}
		r.meter.pass(2, min(len(l.text), 200))
		who := speaker(l.text)
		if l.kind != kindLast {
			if f := r.numbered(l); said.by == "" && f.known() {
				return Match{Rule: f.rule(), Line: l.shown()}, i, f.verdict == Retry
			}
			if r.speaksUp(i) && !said.add(who, false) {
				break
			}
			continue
		}
		if ofCall(l) { // why it had failed was said before
			continue
		}
		f, read := r.errorFamily(l)
		if f.known() {
			passes := f.verdict == Retry || f.printed || r.code == 128 && l.says("fatal: ")
			return Match{Rule: f.rule(), Line: l.shown()}, i, passes && (r.outweighs(l, who, said) || !said.failed && r.spokeBefore(i, said.by))
		}
		if !read || !said.add(who, true) {
			break
		}
	}
	return Match{}, 0, false
}

// after is what was said after a line: who spoke of something that went wrong, or of anything else, and whether it went wrong.
type after struct {
	by     string
	failed bool
}

// add reports whether nobody else had spoken by now.
func (a *after) add(who string, failed bool) bool {
	if a.by != "" && a.by != who {
		return false
	}
	a.by, a.failed = who, a.failed || failed
	return true
}

// aside reports whether line i says nothing by itself of why the program ended.
func (r *reader) aside(i int) bool {
	l := &r.lines[i]
	return l.blank() || isBracket(l.text) || !r.inside[i] && (isHeader(l.text) || isFrame(l.text)) || l.headed || tellsDone(l) || l.kind == kindNoise || l.is(traitNoise|traitEcho) ||
		besideTheRun(l) || isRustHead(l.text) || r.tellsOutcome(l)
}

// errorFamily is the family of an error that a line tells; read is false where it is a bug, or costs too much to tell.
func (r *reader) errorFamily(l *line) (f family, read bool) {
	class, message, raised := raisedHead(l.text)
	if raised && (isLogicError(lastName(class)) || passesOnBug(class, []byte(message))) || !r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
		return family{}, false
	}
	text := l.text
	if raised {
		text = []byte(message)
	}
	return familyOf(class, text), true
}

// outweighs reports whether a line counts in spite of what was said after it: glog ended the process of it, the same program said no more
// than that, or the line gives the code with which the process ended.
func (r *reader) outweighs(l *line, who string, said after) bool {
	if l.fatal || said.by == "" || said.by == who && !(said.failed && strings.HasPrefix(who, "[")) {
		return true
	}
	return said.failed && (r.lastTry(l) || r.namesCode(l, who))
}

// spokeBefore reports whether somebody who says after line i nothing that went wrong had spoken before it, too: a script around the
// command that failed, which marks its own lines by a sign, not by a name, and comes to its end.
func (r *reader) spokeBefore(i int, who string) bool {
	if strings.ContainsFunc(who, unicode.IsLetter) || strings.ContainsFunc(who, unicode.IsDigit) {
		return false
	}
	for j := i - 1; j >= 0 && i-j <= backtrace; j-- {
		if l := &r.lines[j]; !l.blank() && !r.inside[j] && l.kind == kindOther && !indented(l.text) && speaker(l.text) == who {
			return true
		}
	}
	return false
}

// isBracket reports whether a line only closes or opens what JSON has on several lines, or stands for what was left out.
func isBracket(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && len(text) <= 5 && len(bytes.Trim(text, "{}[],.\b")) == 0
}

// goesOn reports whether line i goes on an error before it whose line ends with a colon, or is broken.
func (r *reader) goesOn(i int) bool {
	if i == 0 || r.lines[i-1].kind != kindLast {
		return false
	}
	before := bytes.TrimSpace(r.lines[i-1].text)
	return bytes.HasSuffix(before, []byte(":")) || wraps(before, r.lines[i].text)
}

// wraps reports whether a text goes on prose that was too long for its line: it begins with a small letter and ends a sentence, which
// nothing ended in the line before it, and that had begun with another sentence.
func wraps(before, text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(before) >= widest && len(text) > 0 && text[0] >= 'a' && text[0] <= 'z' && text[len(text)-1] == '.' &&
		before[len(before)-1] >= 'a' && before[len(before)-1] <= 'z' && bytes.Contains(before, []byte(". "))
}

const widest = 60 // bytes of a line that is long enough to be broken

// repeated reports whether line i comes again and again behind an error, as what a program says that tries again does.
func (r *reader) repeated(i int) bool {
	n := 0
	for j := i - 1; j > 0 && i-j <= fresh && n < 3; j-- {
		if r.lines[j].shape == r.lines[i].shape && r.lines[j-1].kind == kindLast {
			n++
		}
	}
	return n == 3 && r.lines[i-1].kind == kindLast
}

// numbered judges the last line, which tells of no error by its words, by the status or the number that it has: "Status: 503".
func (r *reader) numbered(l *line) family {
	if l.level == levelInfo || l.kind != kindOther || !r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
		return family{}
	}
	if f := familyOf("", l.text); f.name == "family.http" || f.name == "family.errno" || f.name == "family.service" || f.name == "family.rpc" {
		return f
	}
	return family{}
}

// namesCode reports whether a command has named, in what it says, the code with which the process ended: "curl: (56) Recv
// failure". What its script says after that comes of it.
func (r *reader) namesCode(l *line, who string) bool {
	return r.code > 2 && l.says(who+": ("+strconv.Itoa(r.code)+") ") || r.code == 128 && l.says("fatal: ") // git's
}

// longBefore reports whether line i is no part of what was said last, before line to.
func (r *reader) longBefore(i, to int) bool {
	end := r.end
	if to < len(r.lines) && !r.lines[to].at.IsZero() {
		end = r.lines[to].at
	}
	at := r.lines[i].at
	return !at.IsZero() && end.Sub(at) > parted
}

const (
	closing = 12              // lines with which a program takes its leave
	parted  = 5 * time.Second // and how long that takes
)

// speaker is the first word of a line, which most commands begin with their name. Where it is no name, it is the line.
func speaker(text []byte) string {
	text = bytes.TrimLeft(text, " ")
	if len(text) > 0 && text[0] == '<' && bytes.HasSuffix(bytes.TrimSpace(text), []byte(">")) { // a page, from its first line to its last
		return "<"
	}
	word := text
	if i := bytes.IndexAny(text[min(1, len(text)):], " :[") + 1; i > 0 {
		word = text[:i]
	}
	if bytes.IndexByte(word, '=') >= 0 || noNames[string(bytes.ToLower(bytes.Trim(word, "!.,")))] {
		word = text
	}
	return string(word[:min(len(word), 64)])
}

// noNames begin the lines of many programs.
var noNames = map[string]bool{
	"error": true, "err": true, "fatal": true, "critical": true, "failed": true, "failure": true, "cannot": true, "could": true,
	"unable": true, "invalid": true, "exception": true, "the": true, "a": true, "no": true, "warning": true,
}

// speaksUp reports whether line i, which tells of no error by its words, may tell of one all the same: it is neither
// information, nor goes on what is before it, nor takes its leave, nor advises, nor tries again.
func (r *reader) speaksUp(i int) bool {
	l := &r.lines[i]
	return saysMore(l) && !r.goesOn(i) && !l.contains("rying again", "etrying") && !r.repeated(i)
}

func saysMore(l *line) bool {
	return l.kind == kindOther && l.level != levelInfo && !l.says("warning: ", "Warning: ") && !indented(l.text) && !broken(l.text) && !l.says(advice...) && !l.says("Cleaning up ", "Shutting down") &&
		!(l.says(leaves...) && len(bytes.Fields(l.text)) <= 3)
}

// broken reports whether a line goes on the one before it behind a name in brackets that all of them have, as NLTK breaks its lines.
func broken(text []byte) bool {
	end := bytes.IndexByte(text[:min(len(text), 40)], ']')
	return end > 0 && text[0] == '[' && bytes.HasPrefix(text[end+1:], []byte("   "))
}

// leaves begin short lines with which a program takes its leave.
var leaves = []string{"Exiting", "exiting", "Shutting down", "shutting down", "Cleaning up", "cleaning up", "Closing", "closing",
	"Stopping", "stopping", "Terminating", "terminating", "Aborting", "aborting", "Leaving", "leaving", "Giving up", "giving up", "Bye", "bye", "exit", "quit"}

// advice begins lines about what to do.
var advice = []string{"* ", "This usually is caused by", "You can suppress this exception", "This will be reported", "Usage: ", "usage: ", "See ", "Having any troubles?", "Refer to ", "refer to ", "Please refer ", "For more ", "Hint: ", "hint: ", "Try: ", "try: ", "or: ", "https://", "http://"}

// indented reports whether a line goes on the one before it.
func indented(text []byte) bool { return len(text) > 0 && (text[0] == ' ' || text[0] == '\t') }
