// Package ascii writes JSON in ASCII, which any terminal, log and protobuf takes as it is.
package ascii

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape escapes DEL and all above it. In JSON such characters occur only within strings, so the rest need not be
// understood.
func Escape(json []byte) []byte {
	out := make([]byte, 0, len(json)+1) // a newline may follow
	for len(json) > 0 {
		r, n := utf8.DecodeRune(json)
		switch {
		case r < 0x7f:
			out = append(out, json[0])
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		json = json[n:]
	}
	return out
}
