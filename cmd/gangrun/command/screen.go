package command

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// screen is a terminal on which the same text is drawn again and again, in place. Each drawing is one write, which ends
// with the cursor below it, so that whatever ends this program leaves the terminal as it should be.
type screen struct {
	w     io.Writer
	drawn bool
}

// draw shows a text, as far as there is room for its lines.
func (s *screen) draw(text string, width, height int) error {
	var b bytes.Buffer
	b.WriteString("\x1b[?2026h\x1b[H") // shown at once, where a terminal can; home
	if !s.drawn {
		s.drawn = true
		b.WriteString("\x1b[2J")
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, line := range lines[:min(len(lines), max(height-1, 1))] {
		b.WriteString(fit(line, width) + "\x1b[K\n")
	}
	b.WriteString("\x1b[J\x1b[?2026l")
	_, err := s.w.Write(b.Bytes())
	return err
}

// terminalSize is how many columns and lines a terminal has; that of the first ones, where it does not say.
func terminalSize(f *os.File) (width, height int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

// fit cuts a line to so many columns, and leaves the last one free: a terminal wraps when it is written. A line that was
// cut ends in an ellipsis.
func fit(line string, width int) string {
	used, cut := 0, 0 // cut is where an ellipsis would still fit
	for i, r := range line {
		n := columnsOf(r)
		if used+n > width-1 {
			return line[:cut] + "…"
		}
		if used += n; used <= width-2 {
			cut = i + len(string(r))
		}
	}
	return line
}

// columnsOf is how many of a terminal's columns a character takes: East Asian wide ones and pictures two, marks none.
func columnsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 &&
			r <= 0x1faff,
		r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
