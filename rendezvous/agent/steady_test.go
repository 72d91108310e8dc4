package agent

import (
	"testing"
	"time"
)

// TestSteady goes by the clock that nobody sets, whatever the time of day is meanwhile.
func TestSteady(t *testing.T) {
	var passed time.Duration
	began := time.Now()
	now := steady(func() time.Duration { return passed })
	if off := now().Sub(began); off < 0 || off > time.Minute {
		t.Errorf("it is %v from the time of day at the start", off)
	}
	first := now()
	for _, passed = range []time.Duration{time.Second, 3 * time.Hour} {
		if got := now().Sub(first); got != passed {
			t.Errorf("%v after %v", got, passed)
		}
	}
}
