package exitcodes

import (
	"bytes"
	"strings"
)

// tokenize takes off, one after the other, what stands before the words of a line, and appends the line to lines; more
// than one when the line is a record in JSON with a traceback in it, or when a traceback begins behind a progress bar.
func tokenize(lines []line, l line, labels bool, m *meter) []line {
	l.raw = stripEscapes(l.raw)
	l.text = l.raw
	for range maxPrefixes {
		if len(l.text) == 0 || !l.prefix(labels) {
			break
		}
	}
	if record := jsonRecord(l.text, m); record != nil {
		return record.expand(lines, l, labels, m)
	}
	m.pass(2, len(l.text))
	if l.level == levelNone {
		l.level = spokenLevel(l.text)
	}
	if at := bytes.Index(l.text, []byte(traceback)); at > 0 && !isHeader(l.text) {
		first := l
		first.text = clipped(l.text[:at])
		lines = append(lines, first)
		l.text, l.logged, l.level = l.text[at:], false, levelNone
	}
	l.text = clipped(l.text)
	return append(lines, l)
}

// maxPrefixes bounds how many prefixes are taken off one line.
const maxPrefixes = 8

// prefix takes one prefix off the line and reports whether there was one.
func (l *line) prefix(labels bool) bool {
	c := l.text[0]
	switch {
	case c == '[':
		return l.bracket()
	case c >= '0' && c <= '9':
		return l.clock() || labels && l.label() || l.logged && l.recordFields()
	case c == ' ' && labels:
		return l.label()
	case c == '(':
		return l.actor()
	case c == '|' || c == '-' || c == ':':
		return l.separator()
	case c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_':
		return l.word()
	}
	return false
}

// bracket takes off what stands in brackets and is no part of the message: [rank3]:, [default0]:, [1,0]<stderr>:, a
// time, a level, a source file, a logger's name.
func (l *line) bracket() bool {
	end := bytes.IndexByte(l.text[:min(len(l.text), 160)], ']')
	if end < 2 {
		return false
	}
	in, rest := string(l.text[1:end]), l.text[end+1:]
	colon := len(rest) > 0 && rest[0] == ':'
	take := func(tag string) bool {
		if tag != "" {
			l.addTag(tag)
		}
		rest = bytes.TrimPrefix(rest, []byte(":"))
		l.text = bytes.TrimPrefix(rest, []byte(" "))
		return true
	}
	switch {
	case strings.HasPrefix(in, "rank") && digits(in[4:]):
		l.own = l.own || colon && !bytes.HasPrefix(rest, []byte(":["))
		return take(in)
	case colon && letterThenDigits(in):
		return take(in)
	case strings.HasPrefix(in, "pod/"):
		return take(in)
	case mpiRank(in) && bytes.HasPrefix(rest, []byte("<std")):
		if i := bytes.IndexByte(rest, '>'); i > 0 && i < 12 {
			rest = rest[i+1:]
			return take(in)
		}
	case looksLikeTime(in):
		if l.at.IsZero() {
			l.at = parseTime(in)
		}
		l.logged = true
		return take("")
	case len(in) > 3 && glogLevel(in[0]) != levelNone && (in[1] == ' ' || in[1] >= '0' && in[1] <= '9') && !strings.Contains(in, "="):
		l.logged, l.glog, l.level = true, true, glogLevel(in[0])
		return take("")
	case strings.HasPrefix(in, "NeMo ") && len(in) > 6:
		l.logged, l.level = true, glogLevel(in[5])
		return take("")
	case levelWord(strings.TrimSpace(in)) != levelNone:
		l.logged, l.level = true, levelWord(strings.TrimSpace(in))
		return take("")
	case l.logged && (sourceFile(in) || loggerName(in)):
		return take("")
	}
	return false
}

func (l *line) addTag(tag string) {
	if l.tag == "" || l.tag == tag {
		l.tag = tag
	} else {
		l.tag += " " + tag
	}
}

// clock takes off a time, as loggers, the kubelet, docker and CRI put it.
func (l *line) clock() bool {
	n := timeLength(l.text)
	if n == 0 {
		return false
	}
	if l.at.IsZero() {
		l.at = parseTime(string(l.text[:n]))
	}
	rest := l.text[n:]
	for _, stream := range []string{" stderr F ", " stdout F ", " stderr P ", " stdout P "} { // CRI
		if bytes.HasPrefix(rest, []byte(stream)) {
			l.text = rest[len(stream):]
			return true
		}
	}
	if len(rest) > 1 && rest[0] == '[' { // Open MPI's --timestamp-output
		l.text = rest
		return true
	}
	if text := bytes.TrimLeft(rest, ":"); len(text) > 0 && text[0] == ' ' {
		rest = text
	}
	iso := n > 10 && l.text[10] == 'T' && l.text[n-1] == 'Z'
	if len(rest) == 0 || rest[0] != ' ' {
		l.text = rest
		return len(rest) == 0
	}
	l.text = rest[1:]
	if !iso { // kubectl logs --timestamps keeps the line's own indentation
		l.logged = true
		l.text = bytes.TrimLeft(l.text, " ")
		l.glogHead()
	}
	return true
}

// glogHead takes off TensorFlow's head behind the time: "E tensorflow/core/x.cc:29] ".
func (l *line) glogHead() {
	if len(l.text) > 4 && glogLevel(l.text[0]) != levelNone && l.text[1] == ' ' {
		if end := bytes.IndexByte(l.text[:min(len(l.text), 200)], ']'); end > 0 && bytes.IndexByte(l.text[:end], ':') > 0 {
			l.level, l.glog = glogLevel(l.text[0]), true
			l.text = bytes.TrimPrefix(l.text[end+1:], []byte(" "))
		}
	}
}

// label takes off srun's --label: the task's number, right-aligned, and a colon.
func (l *line) label() bool {
	if n := labelLength(l.text); n > 0 {
		l.addTag(string(bytes.TrimSpace(l.text[:n-1])))
		l.text = bytes.TrimPrefix(l.text[n:], []byte(" "))
		return true
	}
	return false
}

// labelLength is how long srun's label at the start of the line is, with its colon; 0 when there is none.
func labelLength(text []byte) int {
	i := 0
	for i < len(text) && i < 4 && text[i] == ' ' {
		i++
	}
	from := i
	for i < len(text) && i-from < 5 && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	if i == from || i >= len(text) || text[i] != ':' || i+1 < len(text) && text[i+1] != ' ' {
		return 0
	}
	return i + 1
}

// hasLabels reports whether most lines of the output carry srun's label: a line of its own that begins with a number
// and a colon is no label.
func hasLabels(output []byte) bool {
	labelled, all := 0, 0
	for l := range bytes.Lines(output) {
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		all++
		if labelLength(bytes.TrimRight(l[:min(len(l), 16)], "\r\n")) > 0 {
			labelled++
		}
	}
	return labelled > 0 && 5*labelled >= 4*all
}

// actor takes off Ray's prefix: (TrainWorker pid=123) or (TrainWorker pid=123, ip=10.0.0.2).
func (l *line) actor() bool {
	end := bytes.IndexByte(l.text[:min(len(l.text), 120)], ')')
	if end < 2 || !bytes.Contains(l.text[:end], []byte("pid=")) && string(l.text[1:end]) != "raylet" {
		return false
	}
	l.addTag(string(l.text[1:end]))
	l.text = bytes.TrimPrefix(l.text[end+1:], []byte(" "))
	return true
}

// separator takes off what stands between a logger's fields.
func (l *line) separator() bool {
	if !l.logged {
		return false
	}
	for _, s := range []string{"| ", "- ", ": "} {
		if bytes.HasPrefix(l.text, []byte(s)) {
			l.text = bytes.TrimLeft(l.text[len(s):], " ")
			return true
		}
	}
	return false
}

// word takes off a level, a logger's name, a compose service, syslog's head, NCCL's and glog's.
func (l *line) word() bool {
	text := l.text
	if glogLevel(text[0]) != levelNone && len(text) > 20 && digits(string(text[1:5])) && text[5] == ' ' { // E1105 12:00:00.123456 77 x.cc:1]
		if end := bytes.Index(text[:min(len(text), 200)], []byte("] ")); end > 0 && bytes.IndexByte(text[:end], ':') > 0 {
			l.logged, l.glog, l.level, l.text = true, true, glogLevel(text[0]), text[end+2:]
			return true
		}
	}
	if n := syslogHead(text); n > 0 {
		l.addTag(string(text[16:n]))
		l.text = text[n:]
		return true
	}
	if i := bytes.Index(text[:min(len(text), 64)], []byte(" | ")); i > 0 && !l.logged && composeName(text[:i]) {
		l.addTag(string(bytes.TrimSpace(text[:i])))
		l.text = text[i+3:]
		return true
	}
	if i := bytes.Index(text[:min(len(text), 160)], []byte("] NCCL ")); i > 0 {
		l.logged = true
		l.text = text[i+2:]
		switch {
		case bytes.HasPrefix(l.text, []byte("NCCL WARN")):
			l.level = levelError // NCCL has no other word for an error
		default:
			l.level = levelInfo
		}
		return false
	}
	i := bytes.IndexAny(text[:min(len(text), 48)], " :")
	if i <= 0 {
		return false
	}
	if lv := levelWord(string(text[:i])); lv != levelNone && l.level == levelNone {
		if l.logged || text[i] == ':' && colonName(text[i+1:]) > 0 {
			l.level, l.logged = lv, true
			l.text = bytes.TrimLeft(text[i:], " :")
			if n := colonName(text[i+1:]); text[i] == ':' && n > 0 {
				l.text = text[i+1+n:]
			}
			return true
		}
	}
	return l.logged && l.recordFields()
}

// recordFields takes off a logger's name or a source file that is followed by a separator: "__main__ - ",
// "trainer.loop:fit:31 - ".
func (l *line) recordFields() bool {
	head := l.text[:min(len(l.text), 80)]
	for _, s := range []string{" - ", " | "} {
		if i := bytes.Index(head, []byte(s)); i > 0 && loggerName(string(bytes.TrimSpace(head[:i]))) {
			name := strings.TrimSpace(string(head[:i]))
			if lv := levelWord(name); lv != levelNone && l.level == levelNone {
				l.level = lv
			}
			l.text = l.text[i+len(s):]
			return true
		}
	}
	return false
}

// colonName is the length of a logger's name up to the colon behind it: "root:" of "ERROR:root:text".
func colonName(text []byte) int {
	for i, c := range text[:min(len(text), 80)] {
		switch {
		case c == ':':
			if i == 0 {
				return 0
			}
			return i + 1
		case c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		default:
			return 0
		}
	}
	return 0
}

func digits(s string) bool {
	if s == "" || len(s) > 9 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func letterThenDigits(s string) bool {
	name := strings.TrimRight(s, "0123456789")
	if name == "" || name == s || len(s)-len(name) > 6 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

func mpiRank(s string) bool {
	job, rank, found := strings.Cut(s, ",")
	return found && digits(job) && digits(rank)
}

func sourceFile(s string) bool {
	i := strings.IndexByte(s, ':')
	return i > 0 && strings.Contains(s[:i], ".") && len(s) > i+1 && s[i+1] >= '0' && s[i+1] <= '9'
}

// loggerName reports whether s is one dotted name, perhaps with a function and a line behind colons.
func loggerName(s string) bool {
	if s == "" || strings.HasPrefix(s, "Errno") || strings.HasSuffix(s, "Error") || strings.HasSuffix(s, "Exception") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '_' && c != '.' && c != ':' && c != '<' && c != '>' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return !digits(s)
}

func composeName(s []byte) bool {
	name := bytes.TrimSpace(s)
	i := bytes.LastIndexByte(name, '-')
	return i > 0 && digits(string(name[i+1:])) && !bytes.ContainsAny(name, " :/")
}

// syslogHead is the length of "May  5 12:00:00 host program[123]: "; 0 when the line has none.
func syslogHead(text []byte) int {
	if len(text) < 20 || text[3] != ' ' || text[6] != ' ' || text[9] != ':' || text[12] != ':' || text[15] != ' ' {
		return 0
	}
	end := bytes.Index(text[:min(len(text), 160)], []byte("]: "))
	if end < 16 || bytes.IndexByte(text[16:end], '[') < 0 {
		return 0
	}
	return end + 3
}

func glogLevel(c byte) level {
	switch c {
	case 'E', 'F', 'C':
		return levelError
	case 'W':
		return levelWarning
	case 'I', 'D':
		return levelInfo
	}
	return levelNone
}

func levelWord(s string) level {
	switch strings.ToUpper(s) {
	case "ERROR", "CRITICAL", "FATAL", "SEVERE", "EXCEPTION":
		return levelError
	case "WARNING", "WARN":
		return levelWarning
	case "INFO", "DEBUG", "TRACE", "NOTICE", "SUCCESS":
		return levelInfo
	}
	return levelNone
}

// spokenLevel is the level that a line without a logger's head tells by its first words, or by naming a warning's class.
func spokenLevel(text []byte) level {
	head := text[:min(len(text), 400)]
	if i := bytes.IndexAny(head, " :("); i > 0 {
		if i < 12 {
			if lv := levelWord(strings.Trim(string(head[:i]), "[]*")); lv != levelNone && lv != levelError {
				return lv
			}
			if i == 1 && head[0] == 'W' {
				return levelWarning
			}
		}
	}
	if i := bytes.Index(head, []byte("Warning: ")); i > 0 && head[i-1] != ' ' {
		return levelWarning
	}
	if i := bytes.Index(head, []byte(": WARNING ")); i > 0 && i < 24 {
		return levelWarning
	}
	return levelNone
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
