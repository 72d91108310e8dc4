package output

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
)

// DefaultLimit is how many bytes a [Console] holds back unless told otherwise.
const DefaultLimit = 4 << 20

// DefaultStall is how long a [Console] may take nothing before lines are dropped, unless told otherwise.
const DefaultStall = 5 * time.Second

// ownRoom is what messages of the program itself may take beyond a console's limit, so that a reason still gets out
// when a worker's output has filled the buffer.
const ownRoom = 64 << 10

// ConsoleOptions change how a [Console] behaves. The zero value is what most callers want.
type ConsoleOptions struct {
	// Limit is how many bytes are held back before streams have to wait; 0 means DefaultLimit.
	Limit int
	// Stall is how long streams wait for a console that takes nothing before lines are dropped; 0 means DefaultStall.
	// Below 0 nothing is ever dropped and streams wait as long as it takes, as on a plain pipe.
	Stall time.Duration
	// Report, when set, is told once why the console was given up, and once that it is full (ENOSPC) and tried again.
	// It is called from the console's own goroutine and must not wait for the console.
	Report func(error)
}

// Console is one descriptor on which several streams show what their workers print. It writes in a goroutine of its
// own. The exact rules are in the package documentation.
//
// As an [io.Writer] it takes the program's own messages and never blocks.
type Console struct {
	w      io.Writer
	limit  int
	stall  time.Duration
	report func(error)
	told   bool   // that the console is full; the writer's own
	below  status // the writer's own, too

	turn   chan struct{} // held by the one stream that may wait for room
	wake   chan struct{} // tells the writer that something is waiting
	room   chan struct{} // tells the waiting stream that there is room for it
	closed chan struct{} // closed when nothing more is accepted
	over   chan struct{} // closed when nothing more will be written

	mu        sync.Mutex
	queue     queue
	used      int       // bytes accepted and not written yet, those being written included
	open      *source   // whose unfinished line the cursor is on; nil at the start of a line
	own       source    // the program's own messages
	waiting   int       // the size of what the stream that has the turn waits to put; 0 when none waits
	progress  time.Time // when something was last written, or the waiting began
	dropping  bool
	lost      loss   // what the next notice will tell
	status    string // what is to stand below everything else
	closing   bool   // closed is closed
	abandoned bool   // the time to write the rest is over
	err       error  // why the console was given up
}

// source is what a console remembers of one that writes to it.
type source struct {
	raw  bool // passed through, not made of whole lines
	torn bool // the end of a line whose start was dropped is still to come
	// hurry, when something is in it, makes one piece that has to wait go in at once, whatever the limit: the stream is
	// being drained. Nil for the program's own messages, which never wait.
	hurry chan struct{}
}

// loss counts what did not get to the console.
type loss struct {
	lines, bytes int
}

// NewConsole starts to write to w. Each call of w.Write gets at most 4 KiB and ends with a line where that is
// possible, so on a pipe it is not torn by other writers (POSIX, PIPE_BUF).
func NewConsole(w io.Writer, options ConsoleOptions) *Console {
	c := &Console{
		w:      w,
		limit:  options.Limit,
		stall:  options.Stall,
		report: options.Report,
		turn:   make(chan struct{}, 1),
		wake:   make(chan struct{}, 1),
		room:   make(chan struct{}, 1),
		closed: make(chan struct{}),
		over:   make(chan struct{}),
	}
	if c.limit <= 0 {
		c.limit = DefaultLimit
	}
	if c.stall == 0 {
		c.stall = DefaultStall
	}
	if c.report == nil {
		c.report = func(error) {}
	}
	crash.Go(c.write)
	return c
}

// Write shows a message of the program itself, which should be one or more whole lines. It never blocks and never
// fails: when there is no room the message is dropped and counted like the lines of a worker.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(p) == 0 || c.closing:
	case c.used > 0 && c.used+len(p) > c.limit+ownRoom:
		c.lose(p)
	default:
		c.accept(&c.own, p, false)
	}
	return len(p), nil
}

// Close accepts nothing more and waits until everything accepted so far is written: until the deadline at most, and no
// longer than the console goes on, which means that it takes something within the stall time. What is not written by
// then is given up; the error is os.ErrDeadlineExceeded then, and that of the write if the console is gone or full.
func (c *Console) Close(deadline time.Time) error {
	c.mu.Lock()
	c.refuse()
	c.progress = time.Now()
	c.mu.Unlock()

	for left := time.Until(deadline); left > 0; left = time.Until(deadline) {
		if c.stall > 0 {
			left = min(left, c.patience())
		}
		if left <= 0 {
			break
		}
		select {
		case <-c.over:
		case <-time.After(left):
			continue
		}
		break
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && c.used > 0 {
		c.abandoned = true
		return fmt.Errorf("output: %d bytes not written: %w", c.used, os.ErrDeadlineExceeded)
	}
	return c.err
}

// refuse makes the console accept nothing more. The caller holds mu.
func (c *Console) refuse() {
	if !c.closing {
		c.closing = true
		close(c.closed)
	}
}

// put shows p, the output of a stream: whole lines unless the source is raw. It waits while there is no room and the
// console goes on. With continues, p begins with the end of a line already shown.
func (c *Console) put(src *source, p []byte, continues bool) {
	select {
	case c.turn <- struct{}{}: // nearly always, and the larger choice takes longer
	default:
		select {
		case c.turn <- struct{}{}:
		case <-src.hurry:
			c.force(src, p, continues)
			return
		case <-c.closed:
			return
		}
	}
	defer func() { <-c.turn }()
	if c.try(src, p, continues, false) {
		return
	}
	var stuck <-chan time.Time
	var timer *time.Timer
	if c.stall > 0 {
		timer = time.NewTimer(c.stall)
		defer timer.Stop()
		stuck = timer.C
	}
	for {
		last := false
		select {
		case <-c.room:
		case <-c.closed:
			return
		case <-src.hurry:
			c.mu.Lock()
			c.waiting = 0
			c.mu.Unlock()
			c.force(src, p, continues)
			return
		case <-stuck:
			left := c.patience()
			if left > 0 {
				timer.Reset(left)
				continue
			}
			last = true
		}
		if c.try(src, p, continues, last) {
			return
		}
	}
}

// force puts p without waiting. The limit is overrun by what fits into the pipe of a worker that is gone, at most.
func (c *Console) force(src *source, p []byte, continues bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closing:
	case c.dropping:
		c.drop(src, p)
	default:
		c.resume(src, p, continues)
	}
}

// patience returns how much longer the waiting stream has to wait if the console takes nothing from now on.
func (c *Console) patience() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stall - time.Since(c.progress)
}

// try reports whether p is dealt with: accepted, dropped, or of no interest any more. At the last try it always is.
func (c *Console) try(src *source, p []byte, continues, last bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return true
	}
	fits := c.fits(len(p))
	if !fits && !c.dropping && !last {
		if c.waiting == 0 {
			c.progress = time.Now()
		}
		c.waiting = len(p)
		return false
	}
	c.waiting = 0
	if !fits || c.dropping {
		c.dropping = true
		c.drop(src, p)
		return true
	}
	c.resume(src, p, continues)
	return true
}

// drop leaves p out. The caller holds mu.
func (c *Console) drop(src *source, p []byte) {
	c.lose(p)
	src.torn = src.raw && p[len(p)-1] != '\n'
}

// resume accepts p, without the end of a line whose start was dropped. The caller holds mu.
func (c *Console) resume(src *source, p []byte, continues bool) {
	if src.torn {
		src.torn = false
		end := bytes.IndexByte(p, '\n') + 1
		c.lose(p[:end])
		p = p[end:]
	}
	c.accept(src, p, continues)
}

// fits reports whether n bytes of a stream can be accepted. The caller holds mu.
func (c *Console) fits(n int) bool {
	return c.used == 0 || c.used+n <= c.limit
}

// accept queues p. The caller holds mu.
func (c *Console) accept(src *source, p []byte, continues bool) {
	switch {
	case continues && c.open != src:
		p = p[1:] // another stream has ended that line
	case !continues && !src.raw:
		c.endLine(src)
	}
	if len(p) == 0 {
		return
	}
	c.push(p)
	if p[len(p)-1] == '\n' {
		c.open = nil
	} else {
		c.open = src
	}
}

// endLine ends the line that the cursor is on unless it is the source's own. The caller holds mu.
func (c *Console) endLine(src *source) {
	if c.open != nil && c.open != src {
		c.push([]byte{'\n'})
		c.open = nil
	}
}

func (c *Console) push(p []byte) {
	c.queue.push(p)
	c.used += len(p)
	poke(c.wake)
}

func (c *Console) lose(p []byte) {
	c.lost.lines += bytes.Count(p, []byte{'\n'})
	c.lost.bytes += len(p)
	poke(c.wake)
}

// poke leaves a message in a channel that holds one, unless there is one already.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
