package supervisor

import (
	"testing"
	"time"
)

// TestPutOff goes through the stop of one worker, second by second: SIGKILL is due at 25 s, and a checkpoint may put it
// off to 55 s at most.
func TestPutOff(t *testing.T) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	type look struct {
		at     int // seconds after the stop
		saving bool
		kill   int // when SIGKILL is due, as far as is known then
	}
	for name, tt := range map[string]struct {
		saveBy int
		looks  []look
	}{
		"it saves nothing":          {55, []look{{10, false, 25}, {25, false, 25}}},
		"it is done in time":        {55, []look{{10, true, 25}, {20, false, 25}, {25, false, 25}}},
		"it is done later":          {55, []look{{10, true, 25}, {25, true, 55}, {40, true, 55}, {41, false, 43}, {42, false, 43}}},
		"it is never done":          {55, []look{{25, true, 55}, {55, true, 55}, {60, true, 55}}},
		"it is done at the last":    {55, []look{{25, true, 55}, {54, false, 55}}},
		"it saves another":          {55, []look{{25, true, 55}, {30, false, 32}, {31, true, 32}, {32, true, 55}, {50, false, 52}}},
		"nobody knows of more time": {25, []look{{10, true, 25}, {25, true, 25}}},
	} {
		w := &worker{killAt: at(25), saveBy: at(tt.saveBy)}
		for _, l := range tt.looks {
			before := w.killAt
			put := w.putOff(at(l.at), l.saving)
			if w.killAt != at(l.kill) {
				t.Errorf("%s: after %d s SIGKILL is due at %v, want %d s", name, l.at, w.killAt.Sub(noon), l.kill)
			}
			if put != w.killAt.After(before) {
				t.Errorf("%s: after %d s it was put off: %v", name, l.at, put)
			}
		}
	}
}
