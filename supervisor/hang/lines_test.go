package hang

import (
	"strings"
	"testing"
	"time"
)

// TestLines: steps shown by lines, of which not every step has one. The time between two lines is no step's time, and no hang.
func TestLines(t *testing.T) {
	every := func(n, from, to int64) (steps []int64) {
		for step := from; step <= to; step += n {
			steps = append(steps, step)
		}
		return steps
	}
	decades := func(base int64) (steps []int64) {
		for step := int64(1); step < 5000; step *= base {
			steps = append(steps, step)
		}
		return steps
	}
	for name, steps := range map[string][]int64{
		"1, 2, 4, 8":                        decades(2),
		"1, 10, 100":                        decades(10),
		"1 to 10, 20 to 100, 200 to 1000":   append(every(1, 1, 9), append(every(10, 10, 90), every(100, 100, 5000)...)...),
		"each of the first 10, then of 100": append(every(1, 1, 10), every(100, 100, 5000)...),
		"the first, then each of 500":       append([]int64{1}, every(500, 500, 9000)...),
		"each of 200, after a resume":       every(200, 10000, 19000),
		"1, 2, 5, 10, 20, 50":               {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000},
	} {
		w := newWatch(t, Policy{}, 2)
		for _, step := range steps {
			w.until(time.Duration(step) * 700 * time.Millisecond)
			for i := range 2 {
				w.d.Told(i, Sign{Rank: i, Step: &step, Line: true}, noon.Add(w.now))
			}
		}
		if said := strings.Join(w.said, ", "); strings.Contains(said, "suspect") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// TestLinesSettle: what comes at the same pace for long enough has the limit of steps, until the pace changes.
func TestLinesSettle(t *testing.T) {
	line := func(w *watch, apart time.Duration, n int) *watch {
		for range n {
			w.until(w.now + apart)
			step := int64(w.now)
			w.d.Told(0, Sign{Rank: 0, Step: &step, Line: true}, noon.Add(w.now))
		}
		return w
	}
	line(newWatch(t, Policy{}, 1), s, 21).until(time.Hour).wants("warn 7m51s, suspect 15m21s, hang 15m22s")
	line(newWatch(t, Policy{}, 1), s, 22).until(time.Hour).wants("warn 52s, suspect 1m22s, hang 1m23s")
	line(line(newWatch(t, Policy{}, 1), s, 30), 20*s, 21).until(time.Hour).wants("warn 8m20s, suspect 9m10s, hang 9m11s")
	line(line(newWatch(t, Policy{}, 1), s, 30), 20*s, 5).until(time.Hour).wants("warn 9m40s, suspect 17m10s, hang 17m11s")
	line(newWatch(t, Policy{Timeout: 3 * s}, 1), s, 2).until(time.Hour).wants("warn 3.5s, suspect 5s, hang 6s")
	w := line(newWatch(t, Policy{}, 2), s, 2)
	step := int64(1)
	w.d.Told(1, Sign{Rank: 1, Step: &step}, noon.Add(w.now)) // another one tells its steps
	w.until(time.Hour).wants("warn 32s, suspect 1m2s, hang 1m3s")
}
