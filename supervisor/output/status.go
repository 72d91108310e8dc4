package output

import (
	"errors"
	"syscall"
	"time"
)

// statusPause is how long the status line stays away at least once it has made way for output: under a stream of lines it
// would only flicker, and cost more than they do.
const statusPause = 100 * time.Millisecond

// clearLine goes to the start of the line and empties it; keepClear empties what is right of the cursor.
const (
	clearLine = "\r\x1b[K"
	keepClear = "\x1b[K"
)

// status is one line below everything else, for a console that is a terminal.
type status struct {
	shown  string    // on the screen now
	at     time.Time // when it was last put there or taken away
	broken bool      // the terminal does not take it
}

// SetStatus shows a text below everything else, until it is replaced; an empty one takes it away. It has to fit into
// one line, and the console has to be a terminal. Output takes its place as it comes, and it is redrawn once nothing
// more is waiting; it stays away while the line above has no end, as with somebody's progress bar.
func (c *Console) SetStatus(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status != text {
		c.status = text
		poke(c.wake)
	}
}

// show updates the status line if there is nothing else to write, or says when it may be updated. It belongs to the
// writer.
func (s *status) show(c *Console, text string, open bool) (later <-chan time.Time) {
	if s.shown == text || s.broken || open {
		return nil
	}
	if left := statusPause - time.Since(s.at); s.shown == "" && left > 0 {
		return time.After(left)
	}
	line := clearLine
	if text != "" {
		line = "\r" + text + keepClear
	}
	s.write(c, line)
	s.shown = text
	return nil
}

// away takes the line away for what is to be written.
func (s *status) away(c *Console) {
	if s.shown == "" {
		return
	}
	s.write(c, clearLine)
	s.shown, s.at = "", time.Now()
}

func (s *status) write(c *Console, line string) {
	if _, err := c.w.Write([]byte(line)); err != nil && !errors.Is(err, syscall.EAGAIN) {
		s.broken = true // what it was about to show is lost with it; output finds out for itself
	}
}
