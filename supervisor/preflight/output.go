package preflight

import (
	"fmt"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// Output is what became of a probe that is a process of its own.
type Output struct {
	Text   []byte           // what it printed, the beginning of it
	Status exitcodes.Status // how it ended
	Late   time.Duration    // it had not ended after so long, and was killed; 0: it ended
	Absent bool             // there is no such program
	Err    error            // why it could not be started otherwise
}

// ended is how it ended, after its name in a sentence.
func (o Output) ended() string {
	if o.Status.Signal != 0 {
		return "was killed by " + exitcodes.SignalName(o.Status.Signal)
	}
	return fmt.Sprintf("exits with %d", o.Status.Code)
}

// lastLine is the last line that is not empty, fit for one of ours; empty if there is none.
func lastLine(text []byte) string {
	last := ""
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	return plain(last)
}

// plain bounds a text that others wrote, and leaves out what must not reach a terminal.
func plain(s string) string {
	const most = 200
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return strings.TrimSpace(s)
}
