package hang

import (
	"fmt"
	"testing"
	"time"
)

// dying drives Endings of one worker second by second, as a supervisor does. Times are since noon.
type dying struct {
	e     *Endings
	now   time.Duration
	use   func(at time.Duration) Usage
	words bool // its words are those of a program that has ended
	read  int  // how often they were read
	looks int
	over  time.Duration // 0: it was not
}

func newDying(timeout time.Duration) *dying {
	return &dying{e: NewEndings(timeout, 1, noon), words: true, use: func(time.Duration) Usage { return Usage{Processes: 1} }}
}

func (d *dying) until(at time.Duration) *dying {
	for d.now < at && d.over == 0 {
		d.now += s
		now := noon.Add(d.now)
		do := d.e.Tick(now)
		for range do.Read {
			d.read++
			d.e.Said(0, d.e.Since(0), d.words)
		}
		for range do.Sample {
			d.looks++
			d.e.Used(0, d.use(d.now), now)
		}
		if do.Over >= 0 {
			d.over = d.now
		}
	}
	return d
}

func (d *dying) wants(t *testing.T, over time.Duration) *dying {
	t.Helper()
	if d.over != over {
		t.Errorf("over at %v, want %v", d.over, over)
	}
	return d
}

// TestEndings: who has said its last words and does nothing since, for the whole time, has failed.
func TestEndings(t *testing.T) {
	d := newDying(0).until(10*time.Minute).wants(t, 67*s) // read after 5 s, measured from there on
	if d.read != 1 || d.looks > looksAtIdle+2 {
		t.Errorf("read %d times, checked %d times", d.read, d.looks)
	}
	newDying(4*s).until(time.Minute).wants(t, 7*s)
	d = newDying(0).until(60 * s)
	d.e.Heard(0, noon.Add(d.now)) // it prints one more line
	d.until(10*time.Minute).wants(t, 60*s+67*s)
	if d.read != 2 {
		t.Errorf("read %d times", d.read)
	}
	d = newDying(0).until(60 * s)
	d.e.Ended(0)
	d.until(time.Hour).wants(t, 0)
	d = newDying(0)
	d.words = false
	if d.until(time.Hour).wants(t, 0); d.looks != 0 || d.read != 1 {
		t.Errorf("looked %d times, read %d times", d.looks, d.read)
	}
}

// TestEndingsOnce: that a worker is over is said once, and holds until it shows that it lives, or ends.
func TestEndingsOnce(t *testing.T) {
	d := newDying(0).until(10*time.Minute).wants(t, 67*s)
	d.over = 0
	if d.until(d.now+time.Hour).wants(t, 0); !d.e.Lingers(0) || !d.e.Failed() || !d.e.Next().IsZero() {
		t.Error("it is forgotten")
	}
	d.e.Heard(0, noon.Add(d.now))
	if d.e.Lingers(0) {
		t.Error("it lives")
	}
	at := d.now
	if d.until(at+10*time.Minute).wants(t, at+67*s); !d.e.Lingers(0) {
		t.Error("it is over again")
	}
	if d.e.Ended(0); d.e.Lingers(0) {
		t.Error("it has ended")
	}
}

// TestEndingsOfOthers: who only waits for another one that lives does nothing either, and has not failed.
func TestEndingsOfOthers(t *testing.T) {
	d := newDying(0)
	d.e = NewEndings(0, 2, noon)
	for d.until(d.now + 30*s); d.now < 30*time.Minute; d.until(d.now + 30*s) {
		d.e.Heard(1, noon.Add(d.now))
	}
	if d.wants(t, 0); !d.e.Failed() {
		t.Error("its last words are no failure's")
	}
	d.until(time.Hour).wants(t, 29*time.Minute+30*s+64*s)
}

// TestEndingsGoOn is what is not over, whatever was said.
func TestEndingsGoOn(t *testing.T) {
	for name, use := range map[string]func(at time.Duration) Usage{
		"works":            func(at time.Duration) Usage { return Usage{CPU: at} },
		"works a little":   func(at time.Duration) Usage { return Usage{CPU: at / 50} },
		"works at times":   func(at time.Duration) Usage { return Usage{CPU: at.Truncate(50*s) / 50} },
		"starved":          func(time.Duration) Usage { return Usage{Busy: true} },
		"starved at times": func(at time.Duration) Usage { return Usage{Busy: at%(30*s) < 3*s} },
		"writes":           func(at time.Duration) Usage { return Usage{IO: int64(at.Seconds()) * 100} },
		"is stopped":       func(time.Duration) Usage { return Usage{Stopped: true} },
		"starts processes": func(at time.Duration) Usage { return Usage{Processes: uint64(at / (20 * s))} },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDying(0)
			d.use = use
			d.until(time.Hour).wants(t, 0)
		})
	}
	d := newDying(0)
	d.use = func(at time.Duration) Usage { return Usage{CPU: min(at, 100*s)} } // a child that worked, and ended
	d.until(10*time.Minute).wants(t, 163*s)
}

// TestEndingsPaused: time in which this process did not run says nothing of the others.
func TestEndingsPaused(t *testing.T) {
	d := newDying(0).until(30 * s)
	d.now += time.Hour
	d.until(d.now+10*time.Minute).wants(t, 30*s+time.Hour+62*s)
}

// TestEndingsFrozen: nor does a shorter time, of a time-out that is short.
func TestEndingsFrozen(t *testing.T) {
	d := newDying(6 * s).until(4 * s)
	d.now += 4 * s
	d.until(time.Minute).wants(t, 16*s)
}

// TestEndingsLate: an answer about what was said before is none about what was said since.
func TestEndingsLate(t *testing.T) {
	e := NewEndings(0, 1, noon)
	at := noon
	for range 7 {
		at = at.Add(s)
		e.Tick(at)
	}
	since := e.Since(0)
	e.Heard(0, at)
	e.Said(0, since, true)
	for range 3 {
		at = at.Add(s)
		if do := e.Tick(at); fmt.Sprint(do) != "{[] [] -1}" {
			t.Errorf("%+v", do)
		}
	}
}
