package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// maxWrite is how much is written at once. Up to this size (PIPE_BUF on Linux) a write to a pipe is not mixed with
// those of others; it is also the least that a console has to take within the stall time to count as alive.
const maxWrite = 4 << 10

// Pauses before a write is tried again.
const (
	pauseAgain = 10 * time.Millisecond // EAGAIN: somebody made the shared descriptor non-blocking
	pauseFull  = time.Second           // ENOSPC, EDQUOT: a file on a full disk
)

// write is the console's own goroutine.
func (c *Console) write() {
	defer close(c.over)
	for {
		b := c.next()
		if b == nil {
			return
		}
		for p := b.data[:b.n]; len(p) > 0; {
			size := piece(p)
			n, err := c.w.Write(p[:size])
			if n < size && err == nil {
				err = io.ErrShortWrite
			}
			if !c.wrote(n, err) {
				return
			}
			p = p[n:]
		}
		blocks.Put(b)
	}
}

// next waits for the next block; nil when the console is closed and everything is written.
func (c *Console) next() *block {
	for {
		c.mu.Lock()
		if c.queue.head == nil && c.lost.bytes > 0 {
			c.notice()
		}
		b, closing := c.queue.pop(), c.closing
		text, open := c.status, c.open != nil
		c.mu.Unlock()
		if b != nil || closing {
			c.below.away(c)
			return b
		}
		select {
		case <-c.wake:
		case <-c.closed:
		case <-c.below.show(c, text, open):
		}
	}
}

// piece returns how much of p to write at once: whole lines if one ends in reach.
func piece(p []byte) int {
	if len(p) <= maxWrite {
		return len(p)
	}
	if end := bytes.LastIndexByte(p[:maxWrite], '\n') + 1; end > 0 {
		return end
	}
	return maxWrite
}

// wrote accounts for a write of n bytes and reports whether to continue.
func (c *Console) wrote(n int, err error) bool {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	again := errors.Is(err, syscall.EAGAIN)

	c.mu.Lock()
	c.used -= n
	if (c.waiting > 0 || c.closing) && n > 0 {
		c.progress = time.Now()
		if c.waiting > 0 && c.fits(c.waiting) {
			poke(c.room)
		}
	}
	if c.lost.bytes > 0 && c.used <= c.limit/2 {
		c.notice()
	}
	closing, abandoned := c.closing, c.abandoned
	c.mu.Unlock()

	switch {
	case abandoned:
		return false
	case err == nil:
	case again:
		time.Sleep(pauseAgain)
	case full && !closing:
		if !c.told {
			c.told = true
			c.report(fmt.Errorf("output: console is full, trying on: %w", err))
		}
		select {
		case <-time.After(pauseFull):
		case <-c.closed: // try once more
		}
	default:
		c.giveUp(err)
		return false
	}
	return true
}

// giveUp ends the console after a write that cannot succeed any more.
func (c *Console) giveUp(err error) {
	err = fmt.Errorf("output: console given up: %w", err)
	c.mu.Lock()
	c.err = err
	c.queue = queue{}
	c.refuse()
	c.mu.Unlock()
	c.report(err)
}

// notice tells on the console how much did not get there, and ends the dropping. The caller holds mu.
func (c *Console) notice() {
	c.endLine(nil)
	c.push(fmt.Appendf(nil, "gangrun: %d lines (%d bytes) not shown: the console did not keep up\n",
		c.lost.lines, c.lost.bytes))
	c.lost = loss{}
	c.dropping = false
}
