package rendezvous

import (
	"math"
	"testing"
	"time"
)

// TestScore is how a host's score decays: by half with each six hours in which nothing more happens there, whatever a
// clock that was put back says.
func TestScore(t *testing.T) {
	for _, tc := range []struct {
		points float64
		after  time.Duration
		want   float64
	}{
		{3, 0, 3}, {3, 6*time.Hour - 1, 3}, {3, 6 * time.Hour, 1.5}, {3, 12 * time.Hour, 0.75}, {3, 17 * time.Hour, 0.75},
		{5, 6 * time.Hour, 2.5}, {12, 12 * time.Hour, 3}, {3, -time.Hour, 3}, {3, -1000 * time.Hour, 3},
		{0, time.Hour, 0}, {maxScore, 100 * 365 * 24 * time.Hour, 0},
	} {
		h := &Host{Points: tc.points, At: at}
		if got := h.Score(at.Add(tc.after)); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%v points after %v: %v, want %v", tc.points, tc.after, got, tc.want)
		}
	}
}

// TestFaultsAddUp is what faults at these hours come to, and until when they ban the host.
func TestFaultsAddUp(t *testing.T) {
	for _, tc := range []struct {
		name  string
		hours []float64
		score float64
		until float64 // 0: it is not banned
	}{
		{"one", []float64{0}, 1, 0},
		{"two", []float64{0, 1}, 2, 0},
		{"three at once", []float64{0, 0, 0}, 3, 6},
		{"three in a night", []float64{0, 3, 8}, 3, 14},
		{"three within eighteen hours", []float64{0, 5.9, 11.8}, 3, 17.8},
		{"one a day for a week", []float64{0, 24, 48, 72, 96, 120, 144}, 1 + 1./16, 0},
		{"every seven hours for ever", []float64{0, 7, 14, 21, 28, 35, 42, 49}, 2, 0},
		{"two, a pause, one", []float64{0, 1, 8}, 2, 0},
		{"two, a pause, two", []float64{0, 1, 8, 9}, 3, 15},
		{"six, for it was needed", []float64{0, 1, 2, 3, 4, 5}, 6, 5 + 12},
		{"a clock that went back", []float64{10, 0, 0}, 3, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var h *Host
			var now time.Time
			for i, hour := range tc.hours {
				now = at.Add(time.Duration(hour * float64(time.Hour)))
				h = h.with(newFault(i, "n", "", "", now))
			}
			if got := h.Score(now); math.Abs(got-tc.score) > 0.05 {
				t.Errorf("score %v, want %v", got, tc.score)
			}
			until := h.BannedUntil()
			if want := at.Add(time.Duration(tc.until * float64(time.Hour))); tc.until == 0 && !until.IsZero() ||
				tc.until != 0 && until.Sub(want).Abs() > time.Second {
				t.Errorf("banned until %v, want %v", until, want)
			}
			if !until.IsZero() && (h.Score(until) >= banAt || h.Score(until.Add(-1)) < banAt) {
				t.Errorf("the end of the ban is not when the score falls: %v, %v", h.Score(until.Add(-1)), h.Score(until))
			}
			if len(h.Faults) > maxFaults || h.Faults[len(h.Faults)-1].Round != len(tc.hours)-1 {
				t.Errorf("remembers %+v", h.Faults)
			}
		})
	}
}
