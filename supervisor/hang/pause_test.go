package hang

import (
	"testing"
	"time"
)

// TestNap: of a limit of 3 seconds, one in which nothing ran is no silence either. One in which this process waited for a processor
// is: the others may have run.
func TestNap(t *testing.T) {
	for _, test := range []struct {
		name    string
		timeout time.Duration
		gone    time.Duration
		waited  time.Duration
		known   bool
		counts  bool
	}{
		{"frozen", 3 * s, 4 * s, 0, true, false},
		{"frozen, and then busy", 3 * s, 4 * s, s, true, false},
		{"busy", 3 * s, 4 * s, 3 * s, true, true},
		{"not known", 3 * s, 4 * s, 0, false, true},
		{"as ever", 3 * s, 700 * time.Millisecond, 0, true, true},
		{"frozen for long, and busy", 3 * s, 6 * s, 6 * s, true, false},
		{"usual", 0, 4 * s, 0, true, true},
		{"long", 60 * s, 4 * s, 0, true, true},
		{"frozen, of 10 s", 10 * s, 3 * s, 0, true, false},
		{"short, of 10 s", 10 * s, 2 * s, 0, true, true},
	} {
		w := newWatch(t, Policy{Timeout: test.timeout}, 1)
		waited := time.Hour
		w.d.Waits(func() (time.Duration, bool) { return waited, test.known })
		w.steps(1, 9, s)
		w.tick()
		before := w.d.toldAt
		waited += test.waited
		w.now += test.gone
		w.d.pass(noon.Add(w.now))
		if counts := w.d.toldAt.Equal(before); counts != test.counts {
			t.Errorf("%s: it counts: %v", test.name, counts)
		}
	}
}

// TestNapAgain: what this process has waited once says nothing about another time; and it is asked for rarely.
func TestNapAgain(t *testing.T) {
	w := newWatch(t, Policy{Timeout: 3 * s}, 1)
	waited, asked := time.Duration(0), 0
	w.d.Waits(func() (time.Duration, bool) { asked++; return waited, true })
	if w.steps(1, 60, s); asked > 13 {
		t.Errorf("asked %d times in a minute", asked)
	}
	for _, counts := range []bool{true, false} {
		if counts {
			waited += 4 * s
		}
		before := w.d.toldAt
		w.now += 4 * s
		if w.d.pass(noon.Add(w.now)); w.d.toldAt.Equal(before) != counts {
			t.Errorf("it counts: %v", !counts)
		}
	}
}

// TestNapOfAStep: a step of 2 seconds that began right before nothing ran for 4 is given its time.
func TestNapOfAStep(t *testing.T) {
	w := newWatch(t, Policy{Timeout: 3 * s}, 2)
	w.d.Waits(func() (time.Duration, bool) { return 0, true })
	w.steps(1, 9, 2*s)
	w.said = nil
	w.now += 4 * s
	w.tick()
	w.step(w.now+2*s, 10).wants("warn 23.5s")
}
