package format

import (
	"strings"
)

// piece is a run of letters or of digits in a name.
type piece struct {
	text    string // in lower case
	number  bool
	decimal bool // it has a point, or an exponent
	glued   bool // nothing stands between it and the one before
	used    bool
	shared  bool // all names of the series have it
}

// pieces takes a name apart.
func pieces(stem string) (ps []piece) {
	glued := false
	for i := 0; i < len(stem); {
		c := stem[i]
		from := i
		switch {
		case digit(c):
			p := piece{number: true, glued: glued, used: numbersCopy(stem[:from], stem[from:])}
			for i < len(stem) && digit(stem[i]) {
				i++
			}
			for i+1 < len(stem) && stem[i] == '.' && digit(stem[i+1]) {
				p.decimal = true
				for i++; i < len(stem) && digit(stem[i]); i++ {
				}
			}
			// 1e-4
			if i+2 < len(stem) && (stem[i]|' ') == 'e' && stem[i+1] == '-' && digit(stem[i+2]) {
				p.decimal = true
				for i += 2; i < len(stem) && digit(stem[i]); i++ {
				}
			}
			p.text = stem[from:i]
			ps, glued = append(ps, p), true
		case letter(c):
			for i < len(stem) && letter(stem[i]) && (i == from || !upper(stem[i]) || upper(stem[i-1])) {
				i++
			}
			ps = append(ps, piece{text: strings.ToLower(stem[from:i]), glued: glued})
			glued = true
		default:
			glued = false
			i++
		}
	}
	return ps
}

// numbersCopy reports whether a number is that of a copy, as file managers write it: "ckpt (1)".
func numbersCopy(before, rest string) bool {
	n := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	return strings.HasSuffix(before, " (") && n > 0 && rest[n] == ')'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }

func letter(c byte) bool { return upper(c) || 'a' <= c && c <= 'z' || c >= 0x80 }

// isHash reports whether a name is nothing but a random number, as many programs name a run or a save: a UUID, a digest.
func isHash(stem string) bool {
	digits, letters := 0, 0
	for _, c := range []byte(stem) {
		switch {
		case digit(c):
			digits++
		case 'a' <= c && c <= 'f':
			letters++
		case c != '-':
			return false
		}
	}
	n := digits + letters
	return digits > 0 && letters > 0 && (n == 32 && (len(stem) == 32 || len(stem) == 36) || n == len(stem) && (n == 40 || n == 64))
}
