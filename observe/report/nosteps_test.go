package report

import (
	"strings"
	"testing"
)

// TestNoSteps: what is to be done where nothing is known of steps, which may be printed all the same.
func TestNoSteps(t *testing.T) {
	w := &teller{source: "a", node: "a"}
	w.start(0)
	w.begin(0, 0, nil, nil)
	w.succeed(80)
	if r := build(t, w.events); !strings.Contains(r.Next, "report steps to NOTIFY_SOCKET; those that they only print do not count") {
		t.Error(r.Next)
	}
}
