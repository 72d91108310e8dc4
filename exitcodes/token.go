package exitcodes

import "bytes"

// tokenize takes off, one after the other, what stands before the words of a line, and appends the line to lines; more
// than one when the line is a record in JSON with a traceback in it, or when something was printed behind a progress bar.
func tokenize(lines []line, l line, labels bool, m *meter) []line {
	l.raw = stripEscapes(l.raw)
	l.text = emphasized(l.raw)
	l.takePrefixes(labels)
	if record := jsonRecord(l.text, m); record != nil {
		return record.expand(lines, l, labels, m)
	}
	m.pass(2, len(l.text))
	if l.level == levelNone {
		l.level = spokenLevel(l.text)
	}
	l.coordinated()
	if stack, at := escapedStack(l.text); at > 0 {
		return expandStack(lines, l, stack, at, labels, m)
	}
	if at := bytes.Index(l.text, []byte(traceback)); at > 0 && !isHeader(l.text) {
		first := l
		first.text = clipped(l.text[:at])
		lines = append(lines, first)
		l.text, l.logged, l.level = l.text[at:], false, levelNone
	}
	at := behindBar(l.text)
	if at == 0 {
		at = gluedHead(l.text)
	}
	if at > 0 {
		bar := l
		bar.text = clipped(l.text[:at])
		next := line{number: l.number, offset: l.offset, raw: l.text[at:], tag: l.tag, own: l.own}
		return tokenize(append(lines, bar), next, labels, m)
	}
	l.text = clipped(l.text)
	return append(lines, l)
}

// emphasized is a line without the asterisks by which whoever passed it on had made it bold: "**KeyError: 'x'**".
func emphasized(text []byte) []byte {
	const bold = "**"
	if rest, found := bytes.CutPrefix(text, []byte(bold)); found && len(rest) > 0 && (rest[0] >= 'A' && rest[0] <= 'Z' || rest[0] >= 'a' && rest[0] <= 'z' || rest[0] == '[') {
		text = rest
	}
	if bytes.HasSuffix(text, []byte("***")) { // others underline with more
		return text
	}
	return bytes.TrimSuffix(text, []byte(bold))
}

// maxPrefixes bounds how many prefixes are taken off one line.
const maxPrefixes = 8

// takePrefixes takes off what the tokenizer knows.
func (l *line) takePrefixes(labels bool) {
	for range maxPrefixes {
		if len(l.text) == 0 || !l.prefix(labels) {
			return
		}
	}
}

// prefix takes one prefix off the line and reports whether there was one.
func (l *line) prefix(labels bool) bool {
	c := l.text[0]
	switch {
	case c == '[':
		return l.bracket()
	case c >= '0' && c <= '9':
		return l.takeClock() || l.host() || labels && l.label() || l.logged && l.recordFields()
	case c == ' ' && labels:
		return l.label()
	case c == ' ':
		return l.worker() || l.indentedClock()
	case c == 'F' && l.worker():
		return true
	case c == '#':
		return l.buildStep()
	case c == '{':
		return l.airflow()
	case c == '(':
		return l.actor()
	case c == '|' || c == '-' || c == ':':
		return l.separator()
	case c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_':
		return l.cTime() || monthFirst(l.text) && l.takeClock() || l.word()
	}
	return false
}

// stripEscapes takes ANSI escape sequences out.
func stripEscapes(text []byte) []byte {
	if bytes.IndexByte(text, 0x1b) < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != 0x1b {
			out = append(out, text[i])
			continue
		}
		if i+1 >= len(text) {
			break
		}
		switch i++; text[i] {
		case '[': // CSI: parameters, then one final byte
			for i++; i < len(text) && (text[i] < 0x40 || text[i] > 0x7e); i++ {
			}
		case ']': // OSC: up to BEL or ESC \
			for i++; i < len(text) && text[i] != 0x07 && text[i] != 0x1b; i++ {
			}
			if i+1 < len(text) && text[i] == 0x1b {
				i++
			}
		}
	}
	return out
}
