package exitcodes

import (
	"bytes"
	"slices"
	"strings"
)

// tfFrom is a head of TensorFlow's that only tells from where the error came.
var tfFrom = lazy(`: From /job:\w+/replica:\d+/task:\d+:$`)

// whole is line i of an exception, and what belongs to it on other lines: torch's first key, XLA's first task, TensorFlow's first
// error where the line only counts them, or tells from where.
func (r *reader) whole(m member, i int) string {
	text := r.lines[i].shown() + r.lastError(i)
	next := slices.Index(m.lines, i) + 1
	if next > 1 && (strings.HasPrefix(text, ". ") || strings.HasPrefix(text, ": ")) { // it goes on the sentence before a stack of C++, or a name
		return r.lines[m.lines[0]].shown() + text
	}
	if next < len(m.lines) && strings.HasSuffix(text, ":") && (strings.Contains(text, "Error(s) in loading ") || strings.Contains(text, "The following tasks ")) {
		return text + " " + r.lines[m.lines[next]].shown()
	}
	if class, found := strings.CutSuffix(text, ":"); found && looksRaised(class) && i+1 < len(r.lines) && (indented(r.lines[i+1].text) || next < len(m.lines)) && !r.lines[i+1].blank() { // its message begins below
		return text + " " + r.lines[i+1].shown()
	}
	if strings.HasSuffix(text, ")") && strings.Contains(text, " Error. (Request ID: ") {
		return r.asked(i, text)
	}
	for next < len(m.lines) && (strings.HasSuffix(text, " root error(s) found.") || tfFrom().MatchString(text)) {
		text += " " + r.lines[m.lines[next]].shown()
		next++
	}
	return text
}

// within is line i of an exception's message, behind the line that names the exception: the one says what, the other why.
func (r *reader) within(m member, i int) string {
	text := r.whole(m, i)
	if head := m.lines[0]; i != head && !strings.HasPrefix(text, r.lines[head].shown()) {
		return keepStart(r.lines[head].shown(), maxNamed) + " " + text
	}
	return text
}

const maxNamed = 96 // bytes of the line that names an exception, before one of its message

// asked is the line of an exception that has the number of a request, and what was asked for: huggingface_hub says that below it, behind a
// blank line.
func (r *reader) asked(i int, text string) string {
	for at := i + 1; at < len(r.lines) && at <= i+2; at++ {
		if l := &r.lines[at]; !l.blank() && l.tag == r.lines[i].tag && !l.logged && !l.is(traitNoise) && !isHeader(l.text) && prose(l.text) {
			return text + " " + l.shown()
		}
	}
	return text
}

// lastError is what NCCL tells below an error's name, which says little by itself: two lines below it, or three where torch has
// said before in which call.
func (r *reader) lastError(i int) string {
	if !r.lines[i].contains("nccl", "NCCL") {
		return ""
	}
	for at := i + 1; at <= i+2 && at+1 < len(r.lines); at++ {
		if told := &r.lines[at+1]; r.lines[at].says("Last error:") && r.lines[at].tag == told.tag && !told.blank() {
			return " Last error: " + told.shown()
		}
	}
	return ""
}

// telling is the head of an exception, and the line of its message by which its family is known, where the head says
// nothing of it.
func (r *reader) telling(m member, f family) string {
	text := r.head(m)
	for n, i := range m.lines[:min(len(m.lines), maxTelling)] {
		line := r.lines[i].text
		if n == 0 {
			_, first, _ := exceptionHead(trimMargin(line))
			line = []byte(first)
		}
		if !r.meter.afford(familyPasses, min(len(line), maxMessageText)) {
			return text
		}
		if g := familyOf(m.class, line); g.known() && g.name == f.name && g.reason == f.reason {
			if shown := r.lines[i].shown(); n > 0 && !strings.Contains(text, shown) {
				text += " " + shown
			}
			return text
		}
	}
	return text
}

const maxTelling = 6 // lines of a message in which the telling one is looked for

// head is the line that names an exception; gRPC tells its status in the lines behind it, TensorFlow what was wrong.
func (r *reader) head(m member) string {
	text := r.whole(m, m.lines[0])
	if strings.HasSuffix(text, "Graph execution error:") {
		for n, i := range m.lines {
			if n > 1 && r.lines[i].contains("[[{{node ") {
				for n--; n > 1 && bytes.HasPrefix(r.lines[m.lines[n]].text, []byte("\t")); n-- { // goes on what is before it
				}
				return text + " " + r.lines[m.lines[n]].shown()
			}
		}
	}
	_, message, _ := exceptionHead(trimMargin(r.lines[m.lines[0]].text))
	if strings.HasPrefix(m.class, "yaml.") && len(m.lines) > 1 { // it begins with what was being read
		return text + " " + r.lines[m.lines[1]].shown()
	}
	if strings.HasSuffix(m.class, "Py4JJavaError") && len(m.lines) > 1 && r.lines[m.lines[1]].says(": ") { // Java's stands below what was called
		return text + " " + r.lines[m.lines[1]].shown()
	}
	if message != "" && len(message) <= len("(429)") && len(m.lines) > 1 {
		return text + " " + r.lines[m.lines[1]].shown()
	}
	if message == "" && m.class == "AssertionError" && len(m.lines) == 1 && m.lines[0] > 0 { // what was asserted is the source of the last frame
		for i := m.lines[0] - 1; i >= 0 && m.lines[0]-i <= 2; i-- { // or above its marks
			if source := r.lines[i].shown(); strings.HasPrefix(source, "assert ") {
				return strings.TrimSuffix(text, ":") + ": " + source
			}
		}
	}
	if message == "" && strings.HasSuffix(text, ":") || strings.HasSuffix(message, "...") || strings.HasSuffix(message, " raised:") { // it goes on on the next line
		for _, i := range m.lines[1:] {
			if l := &r.lines[i]; bytes.IndexByte(bytes.TrimSpace(l.text), ' ') > 0 {
				return text + " " + l.shown()
			}
		}
	}
	ofGRPC := strings.HasSuffix(text, "terminated with:") // a status and its details stand below
	for _, i := range m.lines[1:min(3, len(m.lines))] {
		if !ofGRPC && !strings.HasSuffix(text, ":") {
			break
		}
		if !r.lines[i].blank() {
			text += " " + r.lines[i].shown()
		}
	}
	return text
}
