package hang

import "time"

// pass lets time go by. Time in which this process did not run, or in which all workers were stopped, is no silence.
func (d *Detector) pass(now time.Time) {
	gone := now.Sub(d.now)
	long := gone > d.nap()
	if gone > asleep || long && !d.starved(gone) || d.allStopped() {
		d.skip(gone, now)
	}
	if d.now = now; long {
		d.noteWaited() // it says nothing about the next time
	}
}

// nap is what is long without a call, of a limit that is short.
func (d *Detector) nap() time.Duration {
	if d.policy.Timeout == 0 {
		return asleep
	}
	return min(asleep, max(2*d.period(), d.policy.Timeout/4))
}

// Waits has the detector tell a busy machine, on which the workers train all the same, from one on which nothing ran for less than
// asleep: waited is how long this process has waited for a processor in all; false: that is not known.
func (d *Detector) Waits(waited func() (time.Duration, bool)) {
	d.waits = waited
	d.noteWaited()
}

// noteWaited keeps how long this process has waited so far, where that may matter.
func (d *Detector) noteWaited() {
	if d.waits != nil && d.nap() < asleep {
		d.waited, _ = d.waits()
		d.waitedAt = d.now
	}
}

// starved reports whether this process has waited for a processor in most of the time, as far as that is known.
func (d *Detector) starved(gone time.Duration) bool {
	if d.waits == nil {
		return true
	}
	waited, known := d.waits()
	return !known || waited-d.waited >= gone/2
}

func (d *Detector) allStopped() bool {
	stopped := false
	for i := range d.workers {
		if w := &d.workers[i]; !w.ended {
			if !w.stopped {
				return false
			}
			stopped = true
		}
	}
	return stopped
}

// skip takes time out of every silence.
func (d *Detector) skip(gone time.Duration, now time.Time) {
	shift := func(t *time.Time) {
		if !t.IsZero() {
			*t = earlier(t.Add(gone), now)
		}
	}
	for _, t := range []*time.Time{&d.toldAt, &d.printedAt, &d.movedAt, &d.ranAt, &d.suspectedAt} {
		shift(t)
	}
	for i := range d.workers {
		w := &d.workers[i]
		w.usedAt = time.Time{}
		for _, r := range w.ranks {
			shift(&r.at)
			shift(&r.stepAt)
		}
	}
}
