package exitcodes

import (
	"bytes"
	"strings"
)

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
	case (mpiRank(in) || digits(in)) && bytes.HasPrefix(rest, []byte("<std")):
		if i := bytes.IndexByte(rest, '>'); i > 0 && i < 12 {
			rest = rest[i+1:]
			return take(in)
		}
	case strings.HasPrefix(in, "task ") && looksLikeTime(in[len("task "):]): // Taskcluster's
		l.clock, l.logged = parseTime(in[len("task "):]), true
		return take("")
	case looksLikeTime(in):
		if l.clock.IsZero() {
			l.clock = parseTime(in)
		}
		l.logged = true
		l.horovodLevel(in)
		return take("")
	case len(in) > 3 && glogLevel(in[0]) != levelNone && (in[1] == ' ' || in[1] >= '0' && in[1] <= '9') && !strings.Contains(in, "="):
		l.logged = true
		l.byGlog(in[0])
		return take("")
	case strings.HasPrefix(in, "NeMo ") && len(in) > 6:
		l.logged, l.level = true, glogLevel(in[5])
		return take("")
	case levelWord(strings.TrimSpace(in)) != levelNone:
		l.logged, l.level = true, levelWord(strings.TrimSpace(in))
		return take("")
	case l.logged && (sourceFile(in) || loggerName(in) || levelNext(rest)): // a thread's name before the level
		return take("")
	}
	return false
}

// bareRank takes off "rank3:" before rest, which begins behind "rank": torch's [rank3]:, where a page has lost the brackets, or a
// launcher's own. The frames of a traceback give torch's away.
func (l *line) bareRank(rest []byte) bool {
	number, said, found := bytes.Cut(rest[:min(len(rest), 8)], []byte(":"))
	if !found || !digits(string(number)) || len(said) > 0 && said[0] != ' ' && said[0] != '[' {
		return false
	}
	l.addTag("rank" + string(number))
	l.text = bytes.TrimPrefix(rest[len(number)+1:], []byte(" "))
	l.own = l.own || bytes.HasPrefix(l.text, []byte(traceback)) || bytes.HasPrefix(l.text, frameHead)
	return true
}

func (l *line) addTag(tag string) {
	if l.tag == "" || l.tag == tag {
		l.tag = tag
	} else {
		l.tag += " " + tag
	}
}

// clock takes off a time, as loggers, the kubelet, docker and CRI put it.
func (l *line) takeClock() bool {
	n := timeLength(l.text)
	if n == 0 {
		return false
	}
	if l.clock.IsZero() {
		l.clock = parseTime(string(l.text[:n]))
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
	if len(rest) == 0 || rest[0] != ' ' && rest[0] != '\t' {
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

// cTime takes off a time as C prints it, where a launcher's rank follows at once: "Mon Jun  7 11:51:57 2021[1]<stderr>:".
func (l *line) cTime() bool {
	const length = len("Mon Jun  7 11:51:57 2021")
	if len(l.text) <= length || l.text[length] != '[' || !fits(l.text[length-len("00:00:00 0000"):], "00:00:00 0000") {
		return false
	}
	l.text = l.text[length:]
	return true
}

// host takes off what torch_xla's launcher puts behind the time: the worker's address and number, "10.164.0.8 [2] ".
func (l *line) host() bool {
	address, rest, found := bytes.Cut(l.text[:min(len(l.text), 32)], []byte(" ["))
	number, _, closed := bytes.Cut(rest, []byte("] "))
	if !l.logged || !found || !closed || !digits(string(number)) || bytes.Count(address, []byte(".")) != 3 || !digits(string(bytes.ReplaceAll(address, []byte("."), nil))) {
		return false
	}
	l.addTag(string(address) + "[" + string(number) + "]")
	l.text, l.logged = l.text[len(address)+len(" [")+len(number)+len("] "):], false
	return true
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

// worker takes off what Julia puts before a worker's line: "      From worker 3:\t".
func (l *line) worker() bool {
	rest, found := bytes.CutPrefix(bytes.TrimLeft(l.text, " "), []byte("From worker "))
	i := bytes.IndexByte(rest[:min(len(rest), 8)], ':')
	if !found || i <= 0 || !digits(string(rest[:i])) {
		return false
	}
	l.addTag("worker " + string(rest[:i]))
	l.text = bytes.TrimPrefix(bytes.TrimPrefix(rest[i+1:], []byte("\t")), []byte("    "))
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
	if l.datedGlog() {
		return true
	}
	if rest, found := bytes.CutPrefix(text, []byte("rank")); found && l.bareRank(rest) {
		return true
	}
	if rest, found := bytes.CutPrefix(text, []byte("LAUNCH ")); found { // Paddle's launcher
		if word, said, more := bytes.Cut(rest, []byte(" ")); more && levelWord(string(word)) != levelNone && timeLength(said) > 0 {
			l.text, l.level, l.logged = said, levelWord(string(word)), true
			return true
		}
	}
	if i := bytes.IndexByte(text[:min(len(text), 200)], ']'); i > 2 && text[1] == ' ' && glogLevel(text[0]) > levelInfo && !l.logged && sourceFile(string(text[2:i])) {
		if l.glogHead(); l.glog { // TensorFlow's without its time, as it is often passed on
			l.logged = true
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
	if said, found := byNCCL(text); found {
		l.logged, l.text, l.level = true, said, levelInfo
		if bytes.HasPrefix(bytes.TrimPrefix(said, []byte("NCCL ")), []byte("WARN")) {
			l.level = levelError // NCCL has no other word for an error
		}
		return false
	}
	i := bytes.IndexAny(text[:min(len(text), 48)], " :")
	if i <= 0 {
		return false
	}
	if n := rayPlace(text); n > 0 && l.logged {
		l.text = text[n:]
		return true
	}
	if lv := levelWord(string(text[:i])); lv != levelNone && l.level == levelNone {
		if l.levelClockName(lv, text[i:]) || l.levelDay(lv, text[i:]) {
			return true
		}
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
	for _, s := range []string{" - ", " | ", " -- "} {
		if i := bytes.Index(head, []byte(s)); i > 0 && loggerName(string(bytes.TrimSpace(head[:i]))) {
			name := strings.TrimSpace(string(head[:i]))
			if lv := levelWord(name); lv != levelNone && l.level == levelNone {
				l.level = lv
			}
			l.text = l.text[i+len(s):]
			return true
		}
	}
	return l.threadAndLogger(head)
}

// threadAndLogger takes off what log4j puts behind the level: "W-9000-my_tc_1.0-stderr MODEL_LOG - ". What a worker of TorchServe
// prints is logged there as information or a warning, whatever it is.
func (l *line) threadAndLogger(head []byte) bool {
	i := bytes.Index(head, []byte(" - "))
	if i < 0 || l.level == levelNone {
		return false
	}
	thread, name, two := strings.Cut(string(head[:i]), " ")
	if !two || !strings.Contains(thread, "-") || !loggerName(name) || !strings.ContainsAny(name, "._") {
		return false
	}
	l.text = l.text[i+len(" - "):]
	if name == "MODEL_LOG" {
		l.level, l.logged = levelNone, false
	}
	return true
}

// rayPlace is how long the place in the source is that Ray puts between a record's head and its words: "logging.cc:501: ". 0 when
// there is none.
func rayPlace(text []byte) int {
	place, _, found := bytes.Cut(text[:min(len(text), 60)], []byte(": "))
	if name, number, ok := bytes.Cut(place, []byte(".cc:")); !found || !ok || !digits(string(number)) || bytes.IndexByte(name, ' ') >= 0 {
		return 0
	}
	return len(place) + len(": ")
}

// byNCCL takes off what stands before NCCL's own words: host, processes, device and, before an error, a place in the source. Before
// version 2.2 the words do not begin with its name.
func byNCCL(text []byte) (said []byte, found bool) {
	head := text[:min(len(text), 160)]
	i := bytes.Index(head, []byte("] "))
	if i < 0 || !ncclHead().Match(head[:i+2]) {
		return nil, false
	}
	said = text[i+2:]
	placed := false
	if end := bytes.IndexByte(head[i+2:], ' '); end > 0 && sourceFile(string(said[:end])) {
		said, placed = said[end+1:], true
	}
	if bytes.IndexByte(head[:i], ':') < 0 { // the first versions do not name the process; others begin lines like that, too
		return said, placed && bytes.HasPrefix(said, []byte("WARN "))
	}
	return said, bytes.HasPrefix(said, []byte("NCCL ")) || bytes.HasPrefix(said, []byte("WARN ")) || bytes.HasPrefix(said, []byte("INFO "))
}

var ncclHead = lazy(`^(?:\S*:\d+:\d+|[\w.-]+) \[-?\d+\] $`)
