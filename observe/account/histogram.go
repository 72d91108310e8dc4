package account

import (
	"slices"
	"time"
)

// Histogram counts durations below bounds.
type Histogram struct {
	Bounds []time.Duration // growing
	Counts []uint64        // below or at each bound, not added up; one more for what is above all
	Sum    time.Duration
	N      uint64
}

var (
	stepBounds = []time.Duration{
		10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, time.Second,
		3 * time.Second, 10 * time.Second, 30 * time.Second, 100 * time.Second, 300 * time.Second,
	}
	recoveryBounds = []time.Duration{
		100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour,
	}
)

// Add counts n durations of d each.
func (h *Histogram) Add(d time.Duration, n int64) {
	if h.Counts == nil {
		h.Counts = make([]uint64, len(h.Bounds)+1)
	}
	i, _ := slices.BinarySearch(h.Bounds, d)
	h.Counts[i] += uint64(n)
	h.N += uint64(n)
	h.Sum += time.Duration(n) * d
}

// clone is a copy that does not change any more.
func (h *Histogram) clone() Histogram {
	c := *h
	c.Counts = slices.Clone(h.Counts)
	return c
}

// RecoveryPhases are the parts of a recovery that are measured.
func RecoveryPhases() []Source { return []Source{Detection, Stop, Rendezvous, Startup} }

// StepTimes is how long steps took: each as the mean of those between two events.
func (t *Tally) StepTimes() Histogram { return t.stepTimes.clone() }

// Recoveries is how long each phase of the recoveries took.
func (t *Tally) Recoveries() map[Source]Histogram {
	all := map[Source]Histogram{}
	for phase, h := range t.recoveries {
		all[phase] = h.clone()
	}
	return all
}
