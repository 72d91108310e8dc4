// Package plain makes texts that may come from anywhere fit to be shown: nothing in them steers a terminal.
package plain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text is a text as it may stand in a line on a terminal: what could steer one is written as in Go.
func Text(s string) string { return escaped(s, "") }

// Lines is Text for a text of several lines, in which tabs stay, too.
func Lines(s string) string { return escaped(s, "\n\t") }

// Is reports whether a text is one printable line.
func Is(s string) bool { return escaped(s, "") == s }

func escaped(s, kept string) string {
	bad := func(r rune) bool { return !strconv.IsPrint(r) && !strings.ContainsRune(kept, r) }
	if utf8.ValidString(s) && !strings.ContainsFunc(s, bad) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case bad(r):
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}
