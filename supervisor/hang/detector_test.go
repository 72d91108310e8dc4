package hang

import (
	"strings"
	"testing"
	"time"
)

func TestLimits(t *testing.T) {
	t.Run("given", func(t *testing.T) {
		w := newWatch(t, Policy{Timeout: 3 * s}, 4).steps(1, 30, s) // the last at 30 s
		w.until(60 * s).wants("warn 31.5s, suspect 33s, hang 34s")
		if !w.hang.Acts || w.hang.Silence != 4*s {
			t.Errorf("%+v", w.hang)
		}
	})
	t.Run("usual", func(t *testing.T) {
		newWatch(t, Policy{}, 2).steps(1, 10, s).until(200 * s).wants("warn 40s, suspect 1m10s, hang 1m11s")
	})
	t.Run("five times the slowest step", func(t *testing.T) {
		w := newWatch(t, Policy{}, 2).steps(1, 2, s).step(32*s, 3).steps(4, 10, s) // one step took 30 s
		w.until(400 * s).wants("warn 32s, warn 1m54s, suspect 3m9s, hang 3m10s")
	})
	t.Run("never before two steps", func(t *testing.T) {
		newWatch(t, Policy{Timeout: 3 * s}, 2).step(s, 1).until(time.Hour).wants("")
		newWatch(t, Policy{Timeout: 3 * s, Mode: Act}, 2).until(time.Hour).wants("")
	})
	t.Run("off", func(t *testing.T) {
		newWatch(t, Policy{Timeout: 3 * s, Mode: Off}, 2).steps(1, 9, s).until(time.Hour).wants("")
	})
	t.Run("observe says what act does", func(t *testing.T) {
		w := newWatch(t, Policy{Timeout: 3 * s, Mode: Observe}, 2).steps(1, 10, s).until(time.Hour)
		w.wants("warn 11.5s, suspect 13s, hang 14s")
		if w.hang.Acts {
			t.Error("it acts")
		}
	})
	t.Run("a rank that exits is no rank that trains", func(t *testing.T) {
		w := newWatch(t, Policy{Timeout: 3 * s}, 2).steps(1, 10, s).phase(0, Exit)
		w.until(60 * s).wants("warn 11.5s, suspect 13s, hang 14s")
	})
	t.Run("all exit", func(t *testing.T) {
		w := newWatch(t, Policy{Timeout: 3 * s}, 2).steps(1, 10, s).phase(0, Exit).phase(1, Exit)
		w.until(100 * s).wants("warn 40s, suspect 1m10s, hang 1m11s")
	})
}

// TestLateEvidence is waited for, but not long.
func TestLateEvidence(t *testing.T) {
	w := newWatch(t, Policy{Timeout: 3 * s}, 4).steps(1, 30, s)
	w.late = true
	w.until(60 * s).wants("warn 31.5s, suspect 33s, hang 34.5s")
}

// TestAnyProgress ends a silence, of whichever rank, also after the suspicion.
func TestAnyProgress(t *testing.T) {
	w := newWatch(t, Policy{Timeout: 3 * s}, 2).steps(1, 2, s).until(5500 * time.Millisecond).wants("warn 3.5s, suspect 5s")
	step := int64(3)
	w.d.Told(1, Sign{Rank: 1, Step: &step}, noon.Add(w.now))
	w.until(8 * s).wants("warn 7s")
	w.d.Ended(0, noon.Add(w.now))
	w.until(15 * s).wants("warn 9.5s, suspect 11s, hang 12s")
	if got := w.hang.String(); got != "no step for 4s; rank 1 reported step 3" {
		t.Error(got)
	}
}

// TestEpochs: who looks now and then may see the same step every time, as the last of each short epoch. That others were told
// in between is progress, and that none was is not.
func TestEpochs(t *testing.T) {
	w := newWatch(t, Policy{Timeout: 3 * s}, 1).steps(1, 2, s)
	last := int64(20)
	tells := func(steps int) {
		w.until(w.now + s)
		w.d.Told(0, Sign{Rank: 0, Step: &last, Steps: steps}, noon.Add(w.now))
	}
	for n := range 10 {
		tells(20 * (n + 1))
	}
	w.wants("")
	for range 5 {
		tells(200)
	}
	w.wants("warn 13.6s, suspect 15s, hang 16s")
}

// TestToldBefore: a silence begins when the step was told, and not when that was read; what did not count as time since then
// does not.
func TestToldBefore(t *testing.T) {
	w := newWatch(t, Policy{Timeout: 3 * s}, 1).steps(1, 2, s)
	step := int64(3)
	w.until(4 * s)
	w.d.Told(0, Sign{Rank: 0, Step: &step, At: noon.Add(3500 * time.Millisecond)}, noon.Add(4*s))
	w.until(20 * s).wants("warn 3.5s, warn 5.2s, suspect 6.5s, hang 7.5s")

	w = newWatch(t, Policy{Timeout: 3 * s}, 1).steps(1, 2, s)
	w.now += time.Hour // nothing ran
	w.d.Told(0, Sign{Rank: 0, Step: &step, At: noon.Add(3 * s)}, noon.Add(w.now))
	w.until(w.now + 2900*time.Millisecond).wants("warn 1h0m3.5s")
}

// TestBehind names who has come least far, when half of the limit has passed.
func TestBehind(t *testing.T) {
	w := newWatch(t, Policy{}, 3).steps(1, 9, s)
	step := int64(10)
	for i := range 2 {
		w.d.Told(i, Sign{Rank: i, Step: &step}, noon.Add(w.now))
	}
	w.until(45 * s).wants("warn 39s")
	if got, want := w.warn.String(), "no step for 30s; rank 2 reported step 9, rank 0, rank 1 reported step 10"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNotKilled are silences that are no hangs.
func TestNotKilled(t *testing.T) {
	for _, timeout := range []time.Duration{0, 3 * s} {
		t.Run(timeout.String(), func(t *testing.T) {
			p := Policy{Timeout: timeout}
			t.Run("evaluation of 20 steps' time", func(t *testing.T) {
				w := newWatch(t, p, 4).steps(1, 30, 2*s)
				if timeout != 0 {
					w.phase(0, "eval").phase(1, "eval").phase(2, "eval").phase(3, "eval")
				}
				w.step(w.now+40*s, 31)
				if strings.Contains(strings.Join(w.said, ","), "suspect") {
					t.Error(w.said)
				}
			})
			t.Run("one rank saves, the others wait", func(t *testing.T) {
				newWatch(t, p, 4).steps(1, 30, s).phase(0, "checkpoint").step(9*60*s, 31).wants("warn 8m0s")
			})
			t.Run("first step", func(t *testing.T) {
				newWatch(t, p, 4).until(1000*s).steps(1, 2, s).wants("")
			})
			t.Run("rank 0 saves at the end", func(t *testing.T) {
				w := newWatch(t, p, 4).steps(1, 30, s)
				w.use = func(at time.Duration) Usage { return Usage{IO: int64(at.Seconds()) << 20} }
				for i := 1; i < 4; i++ {
					w.d.Ended(i, noon.Add(w.now))
				}
				w.until(w.now + 5*60*s)
				for _, said := range w.said {
					if strings.HasPrefix(said, "suspect") {
						t.Error(w.said)
					}
				}
			})
			t.Run("everything is stopped and continued", func(t *testing.T) {
				w := newWatch(t, p, 4).steps(1, 30, s)
				w.now += time.Hour // this process, too: nothing was called
				w.tick()
				w.step(w.now+s, 31).wants("")
			})
			t.Run("all workers are stopped", func(t *testing.T) {
				w := newWatch(t, p, 4).steps(1, 30, s)
				from := w.now
				w.use = func(at time.Duration) Usage { return Usage{Stopped: at > from && at < from+time.Hour} }
				w.until(from + time.Hour + 500*time.Millisecond)
				if strings.Contains(strings.Join(w.said, ","), "suspect") {
					t.Error(w.said)
				}
			})
			t.Run("one rank is stopped", func(t *testing.T) {
				w := newWatch(t, p, 1).steps(1, 30, s)
				w.d.workers = append(w.d.workers, worker{ranks: map[int]*rank{}, stopped: true})
				if w.until(200 * s); w.hang == nil {
					t.Error("that is a hang")
				}
			})
		})
	}
}

// TestWritesForEver: I/O puts a hang off, but something writes always.
func TestWritesForEver(t *testing.T) {
	w := newWatch(t, Policy{}, 1).steps(1, 30, s)
	w.use = func(at time.Duration) Usage { return Usage{IO: int64(at.Seconds()) << 20} }
	w.until(time.Hour).wants("warn 30m0s, suspect 30m30s, hang 30m31s")

	w = newWatch(t, Policy{}, 1).steps(1, 30, s)
	w.use = func(at time.Duration) Usage { return Usage{IO: int64(at.Seconds()) << 20} }
	w.step(10*60*s, 31)
	w.use = func(time.Duration) Usage { return Usage{} }
	w.steps(32, 33, s).until(time.Hour).wants("warn 10m32s, suspect 11m2s, hang 11m3s") // what it saved in was no step
}

// TestTooSoon: of two looks at nearly the same time the second says nothing.
func TestTooSoon(t *testing.T) {
	d := New(Policy{}, 1, noon)
	for _, test := range []struct {
		at    time.Duration
		io    int64
		moved bool
	}{{s, 1000, false}, {s + time.Millisecond, 2000, false}, {2 * s, 3000, false}, {3 * s, 1 << 20, true}} {
		before := d.movedAt
		d.Used(0, Usage{IO: test.io}, noon.Add(test.at))
		if moved := d.movedAt != before; moved != test.moved {
			t.Errorf("at %v: moved %v", test.at, moved)
		}
	}
}

// TestOutputAlone is a job that tells no steps.
func TestOutputAlone(t *testing.T) {
	prints := func(w *watch) *watch {
		for range 5 {
			w.until(w.now + s)
			w.d.Printed(0, noon.Add(w.now))
		}
		return w
	}
	spins := func(at time.Duration) Usage { return Usage{CPU: at} }
	w := prints(newWatch(t, Policy{Timeout: 20 * s}, 2))
	w.use = spins // it holds the lock of the interpreter, and gets nowhere
	w.until(time.Minute).wants("suspect 25s, hang 26s")
	if w.hang.Acts || w.hang.Told || w.hang.String() != "no output and no I/O for 21s" {
		t.Errorf("%+v %s", w.hang, w.hang)
	}
	w = prints(newWatch(t, Policy{Timeout: 20 * s, Mode: Act}, 2))
	if w.until(time.Minute).wants("warn 15s, suspect 25s, hang 26s"); !w.hang.Acts {
		t.Error("it does not act")
	}
	w = prints(newWatch(t, Policy{}, 2))
	w.until(time.Hour).wants("suspect 15m5s, hang 15m6s")
	w = prints(newWatch(t, Policy{}, 2))
	w.use = spins // it may well train
	w.until(time.Hour).wants("")
}

// TestExiting: who has told that it is about to end is expected to, whatever it has told before.
func TestExiting(t *testing.T) {
	w := newWatch(t, Policy{}, 2).until(s).phase(0, Exit)
	w.until(time.Hour).wants("")
	w.phase(1, Exit).until(w.now + 10*60*s).wants("warn 1h0m30s, suspect 1h1m0s, hang 1h1m1s")
	if !w.hang.Acts || !w.hang.Exiting || w.hang.String() != "said to be about to end, and did not for 1m1s" {
		t.Errorf("%+v: %s", w.hang, w.hang)
	}
	w = newWatch(t, Policy{Timeout: 3 * s, ExitTimeout: 5 * s}, 2).steps(1, 9, s).phase(0, Exit)
	w.d.Ended(1, noon.Add(w.now))
	w.until(time.Minute).wants("warn 11.7s, suspect 14s, hang 15s")
	w = newWatch(t, Policy{}, 1).steps(1, 9, s).phase(0, Exit)
	w.use = func(at time.Duration) Usage { return Usage{IO: int64(min(at, 5*60*s).Seconds()) << 20} } // it saves
	w.until(time.Hour).wants("warn 5m9s, suspect 5m39s, hang 5m40s")
	w = newWatch(t, Policy{}, 1).steps(1, 9, s).phase(0, Exit)
	w.use = func(at time.Duration) Usage { return Usage{CPU: min(at, 5*60*s) / 10} } // it uploads
	w.until(time.Hour).wants("warn 5m9s, suspect 5m39s, hang 5m40s")
}
