package node

import (
	"testing"
	"time"
)

// TestClock goes through the stop of one worker, second by second: SIGKILL is due at 25 s, and a checkpoint may put it
// off.
func TestClock(t *testing.T) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * s) }
	type moment struct {
		at     int // seconds after the stop
		saving bool
		kill   int // when SIGKILL is due, as far as is known then
		rings  alarm
	}
	for name, tt := range map[string]struct {
		saveBy  int
		moments []moment
	}{
		"it saves nothing":       {55, []moment{{10, false, 25, quiet}, {25, false, 26, kill}}},
		"it is done in time":     {55, []moment{{10, true, 25, quiet}, {20, false, 25, quiet}, {25, false, 26, kill}}},
		"it is done later":       {55, []moment{{10, true, 25, quiet}, {25, true, 55, deferred}, {40, true, 55, quiet}, {41, false, 43, quiet}, {43, false, 44, kill}}},
		"it is never done":       {55, []moment{{25, true, 55, deferred}, {54, true, 55, quiet}, {55, true, 56, kill}, {56, true, 57, look}}},
		"it is done at the last": {55, []moment{{25, true, 55, deferred}, {54, false, 55, quiet}, {55, false, 56, kill}}},
		"it saves another":       {55, []moment{{25, true, 55, deferred}, {30, false, 32, quiet}, {31, true, 32, quiet}, {32, true, 55, deferred}, {50, false, 52, quiet}}},
		"there is no more time":  {25, []moment{{10, true, 25, quiet}, {25, true, 26, kill}}},
	} {
		c := clock{}
		c.limit(at(25), at(tt.saveBy))
		for _, m := range tt.moments {
			if got := c.ring(at(m.at), m.saving, s); got != m.rings {
				t.Errorf("%s: after %d s it rings %d, want %d", name, m.at, got, m.rings)
			}
			if c.killAt != at(m.kill) {
				t.Errorf("%s: after %d s SIGKILL is due at %v, want %d s", name, m.at, c.killAt.Sub(noon), m.kill)
			}
		}
	}
}

// TestClockShortens has later limits: none makes the wait longer, and none counts after SIGKILL.
func TestClockShortens(t *testing.T) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * s) }
	c := clock{}
	if c.ring(at(1000), true, s) != quiet || c.runs() {
		t.Error("a clock that nothing has set rings")
	}
	c.expedite(at(1))
	if c.runs() {
		t.Error("a clock that does not run was shortened")
	}
	c.limit(at(20), at(50))
	c.limit(at(30), at(40))
	if c.killAt != at(20) || c.saveBy != at(40) {
		t.Errorf("%v, %v", c.killAt.Sub(noon), c.saveBy.Sub(noon))
	}
	c.ring(at(20), true, s)
	c.limit(at(25), at(35))
	if c.killAt != at(35) {
		t.Errorf("while it saves: %v", c.killAt.Sub(noon))
	}
	c.expedite(at(22))
	if c.killAt != at(22) || c.saving {
		t.Errorf("expedited: %v", c.killAt.Sub(noon))
	}
	c.ring(at(22), true, s)
	c.limit(at(22), at(22))
	if c.killAt != at(23) {
		t.Errorf("after SIGKILL: %v", c.killAt.Sub(noon))
	}
}

func TestStuck(t *testing.T) {
	deep, dead, busy := Process{Deep: true}, Process{Dead: true}, Process{}
	c := clock{killedAt: noon}
	for _, tt := range []struct {
		after time.Duration
		found []Process
		want  bool
	}{
		{30 * s, []Process{deep}, false}, {31 * s, []Process{deep}, true}, {31 * s, []Process{deep, dead}, true},
		{31 * s, []Process{deep, busy}, false}, {121 * s, []Process{busy}, true}, {31 * s, nil, true},
	} {
		if got := c.stuck(tt.found, noon.Add(tt.after)); got != tt.want {
			t.Errorf("%v after SIGKILL %v: %v", tt.after, tt.found, got)
		}
	}
}

// TestClockIsAskedLate finds two things due at once, of which neither may happen while a checkpoint is saved: what is next lies
// ahead.
func TestClockIsAskedLate(t *testing.T) {
	c := clock{}
	c.limit(noon.Add(25*s), noon.Add(55*s))
	c.ask(noon.Add(20 * s))
	if now := noon.Add(30 * s); c.ring(now, true, s) != deferred || c.next().Before(now) {
		t.Errorf("30 s after the stop something is due since %v", now.Sub(c.next()))
	}
}
