package hang

import (
	"testing"
	"time"
)

// TestExcuse: workers that may wait for those of another node have as long as a phase, once; a step ends that.
func TestExcuse(t *testing.T) {
	w := newWatch(t, Policy{Mode: Act, Timeout: 4 * s}, 1).steps(1, 4, s)
	if w.d.Excuse() {
		t.Error("there was nothing to excuse")
	}
	w.late = true // until it is known whether others are busy
	w.until(8500 * time.Millisecond).wants("warn 6s, suspect 8s")
	if !w.d.Excuse() || w.d.Excuse() || !w.d.Excused() {
		t.Error("it can be excused once")
	}
	w.late = false
	w.until(10 * time.Minute).wants("")
	w.step(w.now, 5)
	if w.d.Excused() {
		t.Error("it is still excused after a step")
	}
	w.until(w.now + 10*s).wants("warn 10m2s, suspect 10m4s, hang 10m5s")
}

// TestExcusedForTooLong: who is busy for longer than any phase may take hangs, too.
func TestExcusedForTooLong(t *testing.T) {
	w := newWatch(t, Policy{Mode: Act, Timeout: 4 * s}, 1).steps(1, 4, s)
	w.late = true
	w.until(8500 * time.Millisecond).wants("warn 6s, suspect 8s")
	w.d.Excuse()
	w.late = false
	w.until(Quiet + 10*s)
	if w.hang == nil || w.hang.Limit != Quiet {
		t.Errorf("%v, %+v", w.said, w.hang)
	}
}

// TestBusy is what is told to those elsewhere: a phase, or I/O, once a step takes longer than usual, and not before.
func TestBusy(t *testing.T) {
	w := newWatch(t, Policy{Mode: Act, Timeout: 4 * s}, 2).steps(1, 4, s).phase(0, "checkpoint")
	if got := w.d.Busy(noon.Add(w.now + 500*time.Millisecond)); got != "" {
		t.Errorf("at once: %q", got)
	}
	if got := w.d.Busy(noon.Add(w.now + 2*s)); got != "checkpoint" {
		t.Errorf("in a phase: %q", got)
	}
	w = newWatch(t, Policy{Mode: Act, Timeout: 4 * s}, 2).steps(1, 4, s)
	if got := w.d.Busy(noon.Add(w.now + 3*s)); got != "" {
		t.Errorf("in a step: %q", got)
	}
}
