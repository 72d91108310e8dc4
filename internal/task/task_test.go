package task

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestEndsWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := Begin(func() { time.Sleep(time.Minute) })
		begin := time.Now()
		if work.EndsWithin(time.Second) || time.Since(begin) != time.Second {
			t.Errorf("it ended, or was waited for %v", time.Since(begin))
		}
		if !work.EndsWithin(time.Hour) || time.Since(begin) != time.Minute {
			t.Errorf("it did not end, or was waited for %v", time.Since(begin))
		}
	})
}

// TestRepeat: nothing is shown once stop has returned, and what is last is over.
func TestRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		stop := Repeat(time.Second, func(time.Time) { seen = append(seen, "shown") }, func() { seen = append(seen, "over") })
		time.Sleep(2500 * time.Millisecond)
		stop()
		time.Sleep(time.Minute)
		if len(seen) != 3 || seen[2] != "over" {
			t.Error(seen)
		}
	})
}
