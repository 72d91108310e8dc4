package exitcodes

import (
	"bytes"
	"strings"
)

// byGlog notes that glog wrote the line, with the level that it writes as a letter.
func (l *line) byGlog(letter byte) {
	l.glog, l.level, l.fatal = true, glogLevel(letter), letter == 'F'
}

// glogHead takes off TensorFlow's head behind the time: "E tensorflow/core/x.cc:29] ".
func (l *line) glogHead() {
	if len(l.text) > 4 && glogLevel(l.text[0]) != levelNone && l.text[1] == ' ' {
		if end := bytes.IndexByte(l.text[:min(len(l.text), 200)], ']'); end > 0 && bytes.IndexByte(l.text[:end], ':') > 0 {
			l.byGlog(l.text[0])
			l.text = bytes.TrimPrefix(l.text[end+1:], []byte(" "))
		}
	}
}

// horovodLevel reads the level that Horovod and BytePS write behind the time, before the place: "2022-06-28 02:16:50.100182: E /tmp/horovod/x.cc:156".
func (l *line) horovodLevel(in string) {
	_, place, found := strings.Cut(in, ": ")
	if found && len(place) > 4 && place[1] == ' ' && (place[2] == '/' || sourceFile(place[2:])) && l.level == levelNone {
		l.level, l.fatal = glogLevel(place[0]), place[0] == 'F'
	}
}

// datedGlog takes off glog's own head, with or without the year, and that of those who write like it:
// "E1105 12:00:00.123456 77 x.cc:1] ", "F20231105 12:00:00.123456 77 x.cc:1] ", "I 11-05 12:00:00 x.py:1] ".
func (l *line) datedGlog() bool {
	text := l.text
	if len(text) <= 20 || glogLevel(text[0]) == levelNone {
		return false
	}
	date := text[1 : 1+max(0, bytes.IndexByte(text[1:12], ' '))]
	switch {
	case text[1] == ' ' && fits(text[2:], "00-00 00:00:00 "):
	case (len(date) == len("1105") || len(date) == len("20231105")) && digits(string(date)):
	default:
		return false
	}
	end := bytes.Index(text[:min(len(text), 200)], []byte("] "))
	if end < 0 || bytes.IndexByte(text[:end], ':') < 0 {
		return false
	}
	l.logged, l.text = true, text[end+2:]
	l.byGlog(text[0])
	return true
}
