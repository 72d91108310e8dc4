package node

import "time"

// The times of every stop, apart from those that the user sets.
const (
	leftoverGrace = time.Second            // from SIGTERM to SIGKILL for what a worker leaves behind
	sweepAgain    = 20 * time.Millisecond  // between looks for processes that were forked while others were killed
	lookAgain     = time.Second            // between looks at a worker that SIGKILL has not ended yet
	stuckAfter    = 30 * time.Second       // of SIGKILL: what sleeps uninterruptibly then is stuck in the kernel
	stuckAnyhow   = 2 * time.Minute        // and so is what does anything else: to give much memory back takes seconds
	afterSaving   = 2 * time.Second        // for a worker that has saved its checkpoint to exit by itself
	hookAnswer    = time.Second            // of the last moments of a hook are for its answer to SIGTERM
	hintFor       = 2 * time.Second        // a signal that a worker survived may explain its end
	echoTime      = 2 * time.Second        // the others go on after a failure that may be an echo
	flushTime     = 30 * time.Second       // for a reader of the output that is slow but goes on
	flushAtStop   = 500 * time.Millisecond // the same once the grace is over
)

// clock is the stop clock of anything that was asked to stop: a worker, its leftovers, an exit hook. It can only be made to
// run out earlier, with one exception: while a checkpoint is being saved, SIGKILL waits, up to a time that was set at the
// start.
type clock struct {
	termAt   time.Time // SIGTERM is due; zero: it was sent, or was never to be
	killAt   time.Time // SIGKILL is due, and after it the next look at what is left; zero: no clock runs
	saveBy   time.Time // so far SIGKILL can be put off
	saving   bool      // and it was
	killedAt time.Time // SIGKILL was sent; zero: not yet
}

// alarm is what a clock says is due.
type alarm int

const (
	quiet    alarm = iota
	deferred       // SIGKILL was due, and waits for a checkpoint
	term           // SIGTERM is due
	kill           // SIGKILL is due
	look           // SIGKILL was sent, and it is time to look at what it has done
)

func (c *clock) runs() bool      { return !c.killAt.IsZero() }
func (c *clock) killed() bool    { return !c.killedAt.IsZero() }
func (c *clock) next() time.Time { return earlier(c.termAt, c.killAt) }

// limit makes the clock run out at killAt, or at saveBy for what saves a checkpoint, unless it does so earlier.
func (c *clock) limit(killAt, saveBy time.Time) {
	if c.killed() {
		return
	}
	c.killAt, c.saveBy = earlier(c.killAt, killAt), earlier(c.saveBy, saveBy)
	if c.saving {
		c.killAt = c.saveBy
	}
}

// ask makes SIGTERM due at the time, unless it is due earlier.
func (c *clock) ask(at time.Time) {
	if c.runs() && !c.killed() {
		c.termAt = earlier(c.termAt, at)
	}
}

// expedite makes the clock run out at until, checkpoint or not.
func (c *clock) expedite(until time.Time) {
	if c.runs() && !c.killed() {
		c.killAt, c.saveBy, c.saving = earlier(c.killAt, until), earlier(c.saveBy, until), false
	}
}

// ring says what is due, for the caller to do, and moves the clock on. saving is whether a checkpoint is being saved, again
// how long after SIGKILL the next look is due.
func (c *clock) ring(now time.Time, saving bool, again time.Duration) alarm {
	termDue := !c.termAt.IsZero() && !now.Before(c.termAt)
	if termDue && saving { // it would die of it in the middle
		termDue, c.termAt = false, now.Add(again)
	}
	switch {
	case !c.runs():
		return quiet
	case c.killed():
		if now.Before(c.killAt) {
			return quiet
		}
		c.killAt = now.Add(again)
		return look
	case c.saving && !saving:
		c.saving, c.killAt = false, earlier(now.Add(afterSaving), c.saveBy)
	case !c.saving && saving && !now.Before(c.killAt) && now.Before(c.saveBy):
		c.saving, c.killAt = true, c.saveBy
		return deferred
	}
	switch {
	case !now.Before(c.killAt):
		c.killedAt, c.killAt, c.termAt = now, now.Add(again), time.Time{}
		return kill
	case termDue:
		c.termAt = time.Time{}
		return term
	}
	return quiet
}

// stuck reports whether none of the processes, killed by this clock, will end by itself.
func (c *clock) stuck(found []Process, now time.Time) bool {
	since := now.Sub(c.killedAt)
	if since <= stuckAfter {
		return false
	}
	for _, p := range found {
		if !p.Deep && !p.Dead {
			return since > stuckAnyhow
		}
	}
	return true
}
