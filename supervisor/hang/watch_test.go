package hang

import (
	"strings"
	"testing"
	"time"
)

const s = time.Second

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// watch drives a detector second by second, as a supervisor does. Times are since noon.
type watch struct {
	t    *testing.T
	d    *Detector
	now  time.Duration
	said []string // what followed, with the time
	use  func(at time.Duration) Usage
	last Decision
	hang *Report
	warn *Report
	late bool // evidence does not come
}

func newWatch(t *testing.T, p Policy, workers int) *watch {
	if p.ExitTimeout == 0 {
		p.ExitTimeout = 60 * s
	}
	return &watch{t: t, d: New(p, workers, noon), use: func(time.Duration) Usage { return Usage{} }}
}

// until lets time pass.
func (w *watch) until(at time.Duration) *watch {
	for {
		next := w.d.Next().Sub(noon)
		if next > at {
			break
		}
		w.now = next
		w.tick()
	}
	w.now = at
	return w
}

func (w *watch) tick() {
	now := noon.Add(w.now)
	if w.last.Sample {
		for i := range w.d.workers {
			w.d.Used(i, w.use(w.now), now)
		}
	}
	w.last = w.d.Tick(now)
	say := func(what string, r *Report) {
		if r != nil {
			w.said = append(w.said, what+" "+w.now.String())
		}
	}
	if w.last.Suspect != nil && !w.late {
		w.d.Gathered()
	}
	say("warn", w.last.Warn)
	say("suspect", w.last.Suspect)
	say("hang", w.last.Hang)
	if w.last.Relieved {
		w.said = append(w.said, "relieved "+w.now.String())
	}
	if w.last.Hang != nil {
		w.hang = w.last.Hang
	}
	if w.last.Warn != nil {
		w.warn = w.last.Warn
	}
}

// step lets all workers tell a step.
func (w *watch) step(at time.Duration, step int64) *watch {
	w.until(at)
	for i := range w.d.workers {
		w.d.Told(i, Sign{Rank: i, Step: &step}, noon.Add(at))
	}
	return w
}

// steps lets all workers tell steps from one to the other, so far apart, and stands at the last.
func (w *watch) steps(from, to int64, apart time.Duration) *watch {
	for n := from; n <= to; n++ {
		w.step(w.now+apart, n)
	}
	return w
}

func (w *watch) phase(i int, phase string) *watch {
	w.d.Told(i, Sign{Rank: i, Phase: phase}, noon.Add(w.now))
	return w
}

func (w *watch) wants(want string) *watch {
	w.t.Helper()
	if got := strings.Join(w.said, ", "); got != want {
		w.t.Errorf("%q, want %q", got, want)
	}
	w.said = nil
	return w
}
