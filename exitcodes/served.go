package exitcodes

import (
	"bytes"
	"slices"
	"strings"
)

// served lets an exception before it in the chain explain one about a file: that it is missing, or forbidden, is doubted
// where the file server had failed before, since who cannot read says "absent" soon; and a checkpoint could not be written
// because the disk was full, where that had been said.
func (r *reader) served(c *chain, i int, late said) said {
	causes := causesOf(late.match.Rule.Reason)
	if causes == nil {
		return late
	}
	if m, at, ok := r.unreached(c, late); ok {
		return said{match: m, known: true, at: at, other: late.match.Line}
	}
	for _, m := range c.members[:i] {
		if match, at, ok := r.judgeMember(m); ok && slices.Contains(causes, match.Rule.Reason) {
			return said{match: match, known: true, at: at, other: late.match.Line}
		}
	}
	if late.match.Rule.Reason == "CheckpointWriteFailed" {
		return r.full(c, causes, r.firstWrite(c, i, late))
	}
	return late
}

// firstWrite is the write that failed first, where torch goes on to close the file and then finds in it less than it has written.
func (r *reader) firstWrite(c *chain, i int, late said) said {
	if !strings.Contains(late.match.Line, "unexpected pos ") {
		return late
	}
	for _, m := range c.members[:i] {
		if match, at, ok := r.judgeMember(m); ok && match.Rule.Name == late.match.Rule.Name {
			return said{match: match, known: true, at: at, other: late.match.Line}
		}
	}
	return late
}

// full finds that the disk was full where that was said before the chain c, in a thread that writes or by a library that
// only logs it: nothing was done since, and it was not said by a tracker, which writes elsewhere, nor of a file in a directory
// that nothing else names there.
func (r *reader) full(c *chain, causes []string, late said) said {
	for i := c.begin - 1; i >= r.explainsFrom(c.begin); i-- {
		l := &r.lines[i]
		if l.kind == kindSurvived || l.rule == nil || !slices.Contains(causes, l.rule.Reason) || l.is(traitTracker|traitHandled) || !related(l.tag, c.tag) || !r.sameDisk(i, c) {
			continue
		}
		return said{match: Match{Rule: *l.rule, Line: l.shown()}, known: true, at: i, other: late.match.Line}
	}
	return late
}

// sameDisk reports whether line i, which says that a disk is full, may be about the one to which the chain c wrote: it names no
// file, or one in a directory that is named up to the chain's end.
func (r *reader) sameDisk(i int, c *chain) bool {
	dir := dirNamed(r.lines[i].text)
	if dir == nil {
		return true
	}
	for j := r.explainsFrom(c.begin); j <= c.end; j++ {
		if !r.meter.afford(1, len(r.lines[j].text)) {
			return false
		}
		if j != i && bytes.Contains(r.lines[j].text, dir) {
			return true
		}
	}
	return false
}

// dirNamed is the directory of the last file that a line names by its whole path; nil where it names none.
func dirNamed(text []byte) []byte {
	for {
		i := bytes.LastIndexByte(text, '/')
		if i < 0 {
			return nil
		}
		from := bytes.LastIndexAny(text[:i], " '\"=:(,") + 1
		if text[from] == '/' && i > from {
			return text[from:i]
		}
		text = text[:from]
	}
}

// causesOf are the reasons that explain a reason which is only their effect on a file.
func causesOf(reason string) []string {
	switch reason {
	case "FileNotFound", "PermissionDenied":
		return []string{"StaleFileHandle", "InputOutputError"}
	case "CheckpointWriteFailed":
		return []string{"DiskFull", "DiskQuota", "StaleFileHandle", "InputOutputError"}
	}
	return nil
}

// unreached finds why a library has not found a file of which it gives the URL: its server had not answered right before. It
// had tried again, says so, and then calls the file absent.
func (r *reader) unreached(c *chain, late said) (Match, int, bool) {
	if late.match.Rule.Reason != "FileNotFound" || !strings.Contains(late.match.Line, "://") {
		return Match{}, 0, false
	}
	for i := c.begin - 1; i >= max(0, c.begin-maxBetween); i-- {
		l := &r.lines[i]
		if l.rule != nil && l.rule.Verdict == Retry && related(l.tag, c.tag) && !r.inside[i] {
			return Match{Rule: *l.rule, Line: l.shown()}, i, true
		}
	}
	return Match{}, 0, false
}
