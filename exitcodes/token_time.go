package exitcodes

import (
	"bytes"
	"strings"
	"time"
)

// looksLikeTime reports whether s begins with a date or a time of day.
func looksLikeTime(s string) bool { return timeLength([]byte(s)) > 0 }

// timeLength is the length of a date and time, or a time, at the start of the text.
func timeLength(text []byte) int {
	n := 0
	switch {
	case fits(text, "0000-00-00") || fits(text, "00/00/0000") || fits(text, "0000/00/00"): // the last is Go's
		n = 10
	case fits(text, "00/00/00 "):
		n = 8
	case fits(text, "00-00 00:00:00"):
		n = 5
	case monthFirst(text): // Nextflow's
		n = len("Jul-20")
	}
	if n == 10 && n < len(text) && text[n] == ',' && fits(text[n:], ", 00:00:00 ") { // Airflow's, before the name of a zone
		return n + len(", 00:00:00")
	}
	if n > 0 {
		if n >= len(text) || text[n] != ' ' && text[n] != 'T' && text[n] != '_' && text[n] != ',' {
			return 0
		}
		if !fits(text[n+1:], "00:00:00") {
			return 0
		}
		n += 9
	} else if fits(text, "00:00:00") {
		n = 8
	} else {
		return 0
	}
	if n < len(text) && (text[n] == '.' || text[n] == ',') {
		from := n + 1
		for n++; n < len(text) && n-from < 10 && text[n] >= '0' && text[n] <= '9'; n++ {
		}
	}
	if n < len(text) && text[n] == 'Z' {
		n++
	} else if n+5 < len(text) && (text[n] == '+' || text[n] == '-') && fits(text[n+1:], "00:00") {
		n += 6
	}
	return n
}

// monthFirst reports whether a text begins with the name of a month, a day and a time: "Jul-20 13:54:41".
func monthFirst(text []byte) bool {
	return len(text) > 3 && fits(text[3:], "-00 00:00:00") && months[string(text[:3])]
}

var months = set("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

// fits reports whether the text begins as the picture does, in which 0 stands for any digit.
func fits(text []byte, picture string) bool {
	if len(text) < len(picture) {
		return false
	}
	for i := range len(picture) {
		if c := text[i]; picture[i] == '0' && (c < '0' || c > '9') || picture[i] != '0' && c != picture[i] {
			return false
		}
	}
	return true
}

// parseTime reads what timeLength measured; the zero time when it has no year. Only differences are used, so the
// zone does not matter.
func parseTime(s string) time.Time {
	s = s[:timeLength([]byte(s))]
	if len(s) < 19 {
		return time.Time{}
	}
	clock := strings.Replace(strings.TrimSuffix(s[11:], "Z"), ",", ".", 1)
	if len(clock) > 6 && (clock[len(clock)-6] == '+' || clock[len(clock)-6] == '-') {
		clock = clock[:len(clock)-6]
	}
	layout := "2006-01-02"
	switch byte('/') {
	case s[2]:
		layout = "01/02/2006"
	case s[4]:
		layout = "2006/01/02"
	}
	at, err := time.Parse(layout+" 15:04:05", s[:10]+" "+clock)
	if err != nil {
		return time.Time{}
	}
	return at
}

// indentedClock takes off the spaces before a date and a time: a log that was put into another one.
func (l *line) indentedClock() bool {
	text := bytes.TrimLeft(l.text, " ")
	if timeLength(text) < len("2006-01-02 15:04:05") {
		return false
	}
	l.text = text
	return true
}
