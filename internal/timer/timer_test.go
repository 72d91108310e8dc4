package timer

import (
	"testing"
	"time"
)

func each(t *testing.T, f func(t *testing.T, made func(time.Duration) *Timer)) {
	for name, made := range map[string]func(time.Duration) *Timer{"kernel": New, "Go": Soft} {
		t.Run(name, func(t *testing.T) { f(t, made) })
	}
}

const (
	short = 20 * time.Millisecond
	long  = time.Hour
	late  = 10 * time.Second
)

func rings(t *testing.T, timer *Timer) time.Time {
	t.Helper()
	select {
	case at := <-timer.C:
		return at
	case <-time.After(late):
		t.Fatal("it does not ring")
		return time.Time{}
	}
}

func silent(t *testing.T, timer *Timer, why string) {
	t.Helper()
	select {
	case <-timer.C:
		t.Errorf("it rings: %s", why)
	case <-time.After(3 * short):
	}
}

// TestTimer: it rings once for each time that it was set, not before, and by what it was set to last.
func TestTimer(t *testing.T) {
	each(t, func(t *testing.T, made func(time.Duration) *Timer) {
		began := time.Now()
		timer := made(short)
		defer timer.Close()
		if took := rings(t, timer).Sub(began); took < short {
			t.Errorf("after %v, want %v", took, short)
		}
		silent(t, timer, "it has rung")
		for _, d := range []time.Duration{0, -time.Second, short, 0} {
			timer.Reset(d)
			rings(t, timer)
		}
		timer.Reset(short)
		timer.Reset(long)
		silent(t, timer, "it was set to later")
		timer.Reset(short)
		timer.Stop()
		silent(t, timer, "it was stopped")
		timer.Reset(0)
		time.Sleep(2 * short) // it has rung, and nobody has looked
		timer.Reset(long)
		silent(t, timer, "that was before it was set anew")
		timer.Reset(0)
		time.Sleep(2 * short)
		timer.Stop()
		silent(t, timer, "that was before it was stopped")
		timer.Reset(0)
		rings(t, timer)
	})
}

// TestClose: it rings no more, and may be closed twice.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, made func(time.Duration) *Timer) {
		timer := made(short)
		timer.Close()
		timer.Close()
		timer.Reset(0)
		if timer.soft == nil {
			silent(t, timer, "it was closed")
		}
	})
}

// TestKernels: here there is one of the kernel's.
func TestKernels(t *testing.T) {
	timer := Stopped()
	defer timer.Close()
	if timer.soft != nil {
		t.Error("it is one of Go's")
	}
	silent(t, timer, "it was never set")
}
