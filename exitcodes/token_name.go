package exitcodes

import (
	"bytes"
	"strings"
)

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
