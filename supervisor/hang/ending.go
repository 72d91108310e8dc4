package hang

import (
	"slices"
	"time"
)

// Endings finds the workers of one round that have failed and do not end: their last words are those of a program that has
// ended, nothing came after them, and their processes do nothing for as long. Times must not go back.
type Endings struct {
	timeout time.Duration
	now     time.Time
	workers []ending
}

// ending is what is known of one worker's end.
type ending struct {
	ended bool
	heard time.Time // its newest sign of life
	words lastWords
	// base is what it had used by the time of at: since then it does nothing. Zero: it is not known yet.
	base   Usage
	at     time.Time
	looked time.Time
	over   bool // that is said
}

// lastWords are what a worker has said last.
type lastWords int

const (
	unread lastWords = iota
	asked            // they are being read
	goesOn           // it goes on, as far as they tell
	final            // they are those of a program that has ended
)

// What tells a worker that does nothing.
const (
	wordsAfter   = 5 * time.Second // of silence its words are read
	mostIdleIO   = 4 << 10         // bytes in all of the time: what writes a line now and then lives
	looksAtIdle  = 20              // in all of the time
	leastBetween = 100 * time.Millisecond
)

// NewEndings begins with a round of so many workers.
func NewEndings(timeout time.Duration, workers int, now time.Time) *Endings {
	if timeout == 0 {
		timeout = UsualExit
	}
	e := &Endings{timeout: timeout, now: now, workers: make([]ending, workers)}
	for i := range e.workers {
		e.workers[i].heard = now
	}
	return e
}

// Ends says what is to be done about workers that may have failed and do not end.
type Ends struct {
	Read   []int // their last words are to be read: [Endings.Said]
	Sample []int // what they use is to be measured: [Endings.Used]
	Over   int   // has done nothing since, for the whole time, as [Endings.Lingers] says from then on; -1: none
}

// Tick says what follows from what was heard until now. It is to be called every second or so,
// and when [Endings.Next] says.
func (e *Endings) Tick(now time.Time) Ends {
	e.pass(now)
	do := Ends{Over: -1}
	for i := range e.workers {
		w := &e.workers[i]
		switch {
		case w.ended || w.over:
		case w.words == unread && now.Sub(w.heard) >= min(wordsAfter, e.timeout/4):
			w.words = asked
			do.Read = append(do.Read, i)
		case w.words != final:
		case !w.at.IsZero() && w.looked.Sub(w.at) >= e.timeout:
			w.over, do.Over = true, i
			return do
		case now.Sub(w.looked) >= e.between():
			do.Sample = append(do.Sample, i)
		}
	}
	return do
}

// Next is when Tick is to be called at the latest, once it was called at now; zero while nobody may have failed.
func (e *Endings) Next() (next time.Time) {
	for i := range e.workers {
		if w := &e.workers[i]; !w.ended && !w.over && (w.words == asked || w.words == final) {
			return e.now.Add(e.between())
		}
	}
	return next
}

// between is how long a look at a worker that may have failed holds.
func (e *Endings) between() time.Duration { return max(e.timeout/looksAtIdle, leastBetween) }

// Since is when a worker has given its newest sign of life.
func (e *Endings) Since(i int) time.Time { return e.workers[i].heard }

// Heard takes a sign of life of a worker: it has printed something, or told something. While the others live, one that
// only waits for them does nothing either.
func (e *Endings) Heard(i int, now time.Time) {
	e.pass(now)
	e.workers[i] = ending{ended: e.workers[i].ended, heard: now}
	for o := range e.workers {
		e.workers[o].at = time.Time{}
	}
}

// Failed reports whether the last words of a worker that has not ended are those of a program that has.
func (e *Endings) Failed() bool {
	return slices.ContainsFunc(e.workers, func(w ending) bool { return !w.ended && w.words == final })
}

// Lingers reports whether a worker that was said to be over still is: it has not ended since, and given no sign of life.
func (e *Endings) Lingers(i int) bool { return e.workers[i].over && !e.workers[i].ended }

// Said takes whether the last words of a worker were those of a program that has ended. since is what Since was when they
// were asked for: of what it has said after that nothing is known.
func (e *Endings) Said(i int, since time.Time, ended bool) {
	w := &e.workers[i]
	if w.words != asked || !w.heard.Equal(since) {
		return
	}
	if w.words = goesOn; ended {
		w.words = final
	}
}

// Used takes what a worker's processes have used by now. Whoever runs, or would if the machine let it, or waits for a
// disk, does not do nothing; nor does whoever has started a process, or has lost one. Half of the time without a look tells nothing:
// nothing may have run then.
func (e *Endings) Used(i int, u Usage, now time.Time) {
	e.pass(now)
	w := &e.workers[i]
	idle := !w.at.IsZero() && now.Sub(w.looked) <= max(e.timeout/2, period) && !u.Busy && !u.Stopped && u.Processes == w.base.Processes &&
		u.IO-w.base.IO < mostIdleIO && (u.CPU-w.base.CPU).Seconds() < busyCPU*e.timeout.Seconds()
	if !idle {
		w.base, w.at = u, now
	}
	w.looked = now
}

// Ended takes that a worker has ended.
func (e *Endings) Ended(i int) { e.workers[i].ended = true }

// pass lets time go by. Where this process did not run, the others did not either: everything starts over.
func (e *Endings) pass(now time.Time) {
	if now.Sub(e.now) > asleep {
		for i := range e.workers {
			e.workers[i].at, e.workers[i].looked = time.Time{}, time.Time{}
		}
	}
	e.now = now
}
