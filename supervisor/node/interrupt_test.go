package node

import (
	"fmt"
	"strings"
	"testing"
)

// TestStopIsSaidOnce: who interrupts a job of one node reads once that it stops, and how it ends at once; of several nodes each
// says that it stops its workers.
func TestStopIsSaidOnce(t *testing.T) {
	for _, tt := range []struct {
		alone bool
		sig   Signal
		again bool
		stops int // lines
	}{{true, SIGINT, true, 1}, {true, SIGTERM, false, 1}, {false, SIGINT, false, 2}} {
		w := newWorld(t, Policy{Alone: tt.alone}).start(0, 0).signal(1*s, tt.sig).at(1*s, Stop{Why: "this node is leaving"})
		var lines []string
		for _, e := range w.done {
			if l, is := e.(Log); is && strings.HasPrefix(l.Text, "stopping") {
				lines = append(lines, fmt.Sprint(l.Text, l.Args))
			}
		}
		if again := strings.Contains(strings.Join(lines, "\n"), "again Ctrl-C kills at once"); again != tt.again || len(lines) != tt.stops {
			t.Errorf("%+v: %q", tt, lines)
		}
	}
}
