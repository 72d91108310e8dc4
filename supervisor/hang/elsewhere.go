package hang

import "time"

// writes is what workers do whose I/O puts a hang off, in a word for those elsewhere.
const writes = "io"

// Busy is what the workers do that takes longer than a step, where they have got no step for long enough that those of other
// nodes, which wait for them, may soon seem to hang: a phase that was told, or I/O as of a checkpoint. It is empty otherwise.
func (d *Detector) Busy(now time.Time) string {
	d.pass(now)
	if d.policy.Mode == Off || now.Sub(d.toldAt) < d.limitOf(Train)/4 {
		return ""
	}
	for i := range d.workers {
		if d.workers[i].ended {
			continue
		}
		for _, r := range d.workers[i].ranks {
			if r.phase != Train && r.phase != Exit {
				return r.phase
			}
		}
	}
	if d.alive() && d.movedAt.After(d.toldAt) && now.Sub(d.movedAt) < asleep {
		return writes
	}
	return ""
}

// Excuse takes that workers of another node are busy: those here may wait for them, which is no hang before as long as a phase
// may take that nobody here was told of.
// It reports whether there is anything to excuse.
func (d *Detector) Excuse() bool {
	if d.suspectedAt.IsZero() || d.said || d.excused {
		return false
	}
	d.excused, d.suspectedAt = true, time.Time{}
	return true
}

// Excused reports whether this silence was excused.
func (d *Detector) Excused() bool { return d.excused }

// longer is a limit that counts also while those elsewhere are busy.
func (d *Detector) longer(limit time.Duration) time.Duration {
	if d.excused {
		return max(limit, d.limitOf(elsewhere))
	}
	return limit
}

// elsewhere is a phase that takes its time.
const elsewhere = "elsewhere"
