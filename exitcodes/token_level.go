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
