package exitcodes

import (
	"bytes"
	"slices"
)

// shipper is what something between a program and its log puts before every line: the name of a pod, of a host, of a
// task, a time. There are too many to know them all, but a traceback gives each away: what stands before its heading
// stands before its frames, too, which are indented and so have nothing before them of their own.
type shipper struct {
	head   []byte // digits stand for any digits
	counts bool   // it numbers or indents all lines, which tells nothing of them
}

const (
	maxShippers = 16      // as many as are looked for
	maxShipped  = 120     // bytes of one
	headings    = 128     // that are read
	toFrame     = 8 << 10 // bytes behind a heading in which its first frame stands, other programs' lines between
)

var frameHead = []byte(`  File "`)

// findShippers finds what is put before the tracebacks of an output, as far as the tokenizer does not know it.
func findShippers(output []byte, labels bool, m *meter) (found []shipper) {
	m.pass(1, len(output))
	if found = numbered(output, m); found == nil {
		found = margin(output, m)
	}
	from, left := 0, len(output)+toFrame
	var tried []shipper
	for range headings {
		at := bytes.Index(output[from:], []byte(traceback))
		if at < 0 {
			break
		}
		at += from
		from = at + len(traceback)
		head := output[bytes.LastIndexAny(output[:at], "\r\n")+1 : at]
		if len(bytes.TrimSpace(head)) == 0 || len(head) > maxShipped || shippedBy(tried, head) != nil ||
			unknownPart(slices.Concat(head, frameHead), len(head), labels) == 0 {
			continue
		}
		if len(tried) == maxShippers {
			break
		}
		tried = append(tried, shipper{head: head})
		for l := range bytes.Lines(output[from:min(len(output), from+toFrame)]) {
			if left -= len(l); left < 0 {
				return found
			}
			m.pass(1, len(l))
			if len(l) < len(head) || !sameButDigits(l[:len(head)], head) || !bytes.HasPrefix(l[len(head):], frameHead) {
				continue
			}
			if n := unknownPart(l, len(head), labels); n > 0 {
				found = append(found, shipper{head: head[:n]})
			}
			break
		}
	}
	return found
}

// unknownPart is how much of what stands before a frame the tokenizer does not take off by itself; 0 when it knows all of it.
func unknownPart(frame []byte, head int, labels bool) int {
	for n := range head + 1 {
		if n > 0 && n < head && frame[n-1] != ' ' && frame[n-1] != ':' && frame[n-1] != ']' {
			continue
		}
		l := line{text: frame[n:]}
		l.takePrefixes(labels)
		if bytes.HasPrefix(l.text, frameHead) {
			return n
		}
	}
	return head
}

// shippedBy is the shipper whose head the line has; nil when it has none.
func shippedBy(known []shipper, text []byte) *shipper {
	for i := range known {
		head := known[i].head
		if len(text) < len(head) { // an empty line has no space at its end
			head = bytes.TrimRight(head, " ")
		}
		if len(text) >= len(head) && sameButDigits(text[:len(head)], head) {
			return &known[i]
		}
	}
	return nil
}

// take takes the head off a text, and gives the line the tag and the time that it tells.
func (s *shipper) take(l *line, text []byte, labels bool) []byte {
	n := min(len(s.head), len(text))
	if s.counts {
		return text[n:]
	}
	head := line{text: text[:n]}
	head.takePrefixes(labels)
	if rest := bytes.Trim(head.text, " :|-\t"); len(rest) > 0 {
		head.addTag(string(rest))
	}
	l.tag = head.tag
	if l.clock.IsZero() {
		l.clock = head.clock
	}
	return text[n:]
}

// sameButDigits reports whether two texts of one length differ in nothing but which digits stand in them.
func sameButDigits(a, b []byte) bool {
	for i := range a {
		if a[i] != b[i] && !(isDigit(a[i]) && isDigit(b[i])) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
