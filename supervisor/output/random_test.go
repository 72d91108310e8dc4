package output

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// someText returns n bytes of lines of all lengths, with the odd carriage return and NUL.
func someText(random *rand.Rand, n int) []byte {
	text := make([]byte, 0, n)
	for len(text) < n {
		length := random.IntN(1 << random.IntN(12))
		if random.IntN(200) == 0 {
			length = random.IntN(3 * maxLine)
		}
		for range min(length, n-len(text)) {
			c := byte(random.IntN(256))
			if c == '\n' || c == '\r' {
				c = 0
			}
			text = append(text, c)
		}
		text = append(text, []string{"\n", "\n", "\r\n", "\r", "\r\r", "\x00"}[random.IntN(6)]...)
	}
	return text[:n]
}

// difference says where two outputs begin to differ.
func difference(got, want []byte) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	near := func(p []byte) []byte { return p[max(at-20, 0):min(at+20, len(p))] }
	return fmt.Sprintf("differs from byte %d (%d lines in): got %q, want %q (%d and %d bytes in all)",
		at, bytes.Count(got[:at], []byte{'\n'}), near(got), near(want), len(got), len(want))
}
