package plain

import "testing"

func TestPlain(t *testing.T) {
	for s, want := range map[string]string{
		"":                         "",
		"höchstens 5 \"Schritte\"": "höchstens 5 \"Schritte\"",
		"a\x1b[2Jb\u202ec\u2028":   `a\x1b[2Jb\u202ec\u2028`,
		"a\xffb\ufffd":             "a\\xffb\ufffd",
		"one\ntwo\tthree\r":        `one\ntwo\tthree\r`,
	} {
		if got := Text(s); got != want || Is(s) != (got == s) {
			t.Errorf("%q: %s, want %s; plain: %v", s, got, want, Is(s))
		}
	}
	if got, want := Lines("one\n\ttwo\r\x1b[2J\u0085\u2028"), "one\n\ttwo"+`\r\x1b[2J\u0085\u2028`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
