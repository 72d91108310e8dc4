package exitcodes

import (
	"bytes"
	"strings"
)

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
	case "ERROR", "CRITICAL", "CRIT", "FATAL", "SEVERE", "EXCEPTION":
		return levelError
	case "WARNING", "WARN":
		return levelWarning
	case "INFO", "VERBOSE", "DEBUG", "TRACE", "NOTICE", "SUCCESS":
		return levelInfo
	}
	return levelNone
}

// levelNext reports whether a text begins with a level behind a space.
func levelNext(text []byte) bool {
	word, _, found := bytes.Cut(bytes.TrimPrefix(text, []byte(" ")), []byte(" "))
	return found && len(text) > 0 && text[0] == ' ' && len(word) <= 8 && levelWord(string(word)) != levelNone
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
	if i := bytes.Index(head[:min(len(head), 120)], []byte(" UCX  ")); i > 0 {
		word, _, _ := bytes.Cut(head[i+len(" UCX  "):], []byte(" "))
		switch string(word) {
		case "WARN":
			return levelWarning
		case "DIAG", "INFO", "DEBUG", "TRACE":
			return levelInfo
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

// levelClockName takes off what JAX, and many a program, puts behind the level: ":2026-01-21 08:09:52,001:jax._src.xla_bridge:477: ".
func (l *line) levelClockName(lv level, text []byte) bool {
	n := timeLength(text[1:])
	if text[0] != ':' || n < len("2026-01-21 08:09:52") || 1+n >= len(text) || text[1+n] != ':' {
		return false
	}
	if l.clock.IsZero() {
		l.clock = parseTime(string(text[1 : 1+n]))
	}
	text = text[1+n+1:]
	if n := colonName(text); n < len(text) && text[n] != ' ' { // else it may be an exception's
		text = text[n:]
	}
	if i := bytes.IndexByte(text[:min(len(text), 8)], ':'); i > 0 && digits(string(text[:i])) {
		text = text[i+1:]
	}
	l.text, l.level, l.logged = bytes.TrimLeft(text, " "), lv, true
	return true
}

// levelDay takes off what vLLM puts behind the level: " 04-15 08:11:37 [core.py:387] ", before version 0.8 without the first bracket.
func (l *line) levelDay(lv level, text []byte) bool {
	const clock = " 00-00 00:00:00 "
	if !fits(text, clock) {
		return false
	}
	text = bytes.TrimPrefix(text[len(clock):], []byte("["))
	end := bytes.IndexByte(text[:min(len(text), 80)], ']')
	if end < 0 || !sourceFile(string(text[:end])) {
		return false
	}
	l.text, l.level, l.logged = bytes.TrimPrefix(text[end+1:], []byte(" ")), lv, true
	return true
}
