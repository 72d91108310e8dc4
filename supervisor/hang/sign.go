package hang

import "time"

// Sign is what one rank has told.
type Sign struct {
	// Rank is -1 for a worker that does not say which it is.
	Rank int
	// Step is the one that was just finished; nil where none was told. Any other than the one before is progress: it may
	// start from 0 in each epoch.
	Step *int64
	// Steps is how many were told so far, each another than the one before. What is asked for now and then may see the same
	// one again and again, as the last of each epoch.
	Steps int
	// Line says that it was read from a line of output, which not every step need have.
	Line bool
	// Phase is what the rank does from now on; empty: what it did, and train after another step.
	Phase string
	// At is when it was told; zero: now.
	At time.Time
}

// Usage is what a worker's processes have used since they were started.
type Usage struct {
	CPU     time.Duration
	IO      int64 // bytes, read and written
	Stopped bool  // all of them are stopped, as by SIGSTOP or a frozen cgroup
	// Processes stands for which they are: it changes when one starts or ends.
	Processes uint64
	// Busy says that one of their threads runs, waits for a processor, or for what cannot be interrupted. It is known only
	// where [Endings] asks.
	Busy bool
}

// worker is what one worker has shown so far.
type worker struct {
	ranks   map[int]*rank
	ended   bool
	usage   Usage
	usedAt  time.Time // zero before the first sample, and after a pause
	stopped bool
}

// rank is what one rank has told so far.
type rank struct {
	step  *int64
	told  int // of its signs: how many it has told
	steps int // how often another one was seen
	line  bool
	calm  int // how many were told since the time between two last grew
	phase string
	at    time.Time // of the newest progress
	// stepAt is when the newest step was told; zero once a phase was told after it, since what follows is no step's time.
	stepAt time.Time
}

// mostRanks bounds what one worker can make a detector remember.
const mostRanks = 4096

// Told takes what a rank of a worker has said, and reports whether that was anything new.
func (d *Detector) Told(i int, s Sign, now time.Time) (moved bool) {
	d.pass(now)
	w := &d.workers[i]
	r := w.ranks[s.Rank]
	if w.ended || r == nil && len(w.ranks) >= mostRanks {
		return false
	}
	if r == nil {
		r = &rank{phase: Train}
		w.ranks[s.Rank] = r
	}
	at := now
	if !s.At.IsZero() { // what did not count as time since then does not
		at = earlier(later(s.At, d.toldAt), now)
	}
	if s.Step != nil && (r.step == nil || *r.step != *s.Step || r.told != s.Steps) {
		step := *s.Step
		// What I/O has put off was more than a step: a checkpoint of which nothing was told.
		if took := at.Sub(r.stepAt); !r.stepAt.IsZero() && (!d.told() || took <= max(d.slowest, d.limit())) {
			d.took(r, took)
		}
		r.line = s.Line
		r.step, r.told, r.stepAt, r.phase, moved = &step, s.Steps, at, Train, true
		r.steps++ // once for several read at once: who prints through a buffer is silent then, for a time that is not known yet
		d.steps = max(d.steps, r.steps)
	}
	if s.Phase != "" && s.Phase != r.phase {
		r.phase, r.stepAt, moved = s.Phase, time.Time{}, true
	}
	if moved {
		r.at = at
		d.progress(at)
	}
	return moved
}

// took takes how long a rank's newest step came after the one before.
func (d *Detector) took(r *rank, took time.Duration) {
	if r.calm++; took > d.slowest*grows/100 {
		d.unsettle()
	}
	d.slowest = max(d.slowest, took)
}

// Printed takes that a worker has printed something.
func (d *Detector) Printed(i int, now time.Time) {
	d.pass(now)
	if d.workers[i].ended {
		return
	}
	d.printed++
	d.printedAt = now
	if d.steps < enough {
		d.heard()
	}
}

// Used takes what a worker's processes have used by now. It is of use only while [Decision.Sample] asks for it.
func (d *Detector) Used(i int, u Usage, now time.Time) {
	d.pass(now)
	w := &d.workers[i]
	if w.ended {
		return
	}
	w.stopped = u.Stopped
	if !w.usedAt.IsZero() && now.Sub(w.usedAt) < d.period()/2 {
		return // too soon: a line that was written in a millisecond is no megabyte a second
	}
	// What was used since a sample of long ago says nothing about now.
	if seconds := now.Sub(w.usedAt).Seconds(); seconds > 0 && seconds < asleep.Seconds() {
		if float64(u.IO-w.usage.IO) >= busyIO*seconds {
			d.movedAt = now
		}
		if (u.CPU - w.usage.CPU).Seconds() >= busyCPU*seconds {
			d.ranAt = now
		}
	}
	w.usage, w.usedAt = u, now
}

// Ended takes that a worker has ended. What it leaves to the others starts again.
func (d *Detector) Ended(i int, now time.Time) {
	d.pass(now)
	if w := &d.workers[i]; !w.ended {
		w.ended = true
		d.progress(now)
	}
}

// progress ends a silence.
func (d *Detector) progress(now time.Time) {
	d.toldAt = now
	d.heard()
}

// heard forgets what was made of the silence before.
func (d *Detector) heard() {
	d.warned, d.suspectedAt, d.said, d.excused = false, time.Time{}, false, false
}
