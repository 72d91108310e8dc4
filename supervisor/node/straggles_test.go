package node

import (
	"fmt"
	"testing"
	"time"
)

// TestStraggles: it is said, and nothing else follows.
func TestStraggles(t *testing.T) {
	n := newWorld(t, Policy{}, ranks(3)...).start(0, 0).n
	for _, test := range []struct {
		ev   Straggles
		want string
	}{
		{Straggles{Rank: 2, Own: true, Late: 45, Steps: 50, Excess: 20 * time.Millisecond, Step: 150 * time.Millisecond},
			"the others wait for rank 2, step after step: look at its GPU, its host and its data [late it took so much longer than the others for its own part in 45 of 50 steps by 20ms step_time 150ms]"},
		{Straggles{Rank: 2, Late: 45, Steps: 50, Excess: 20 * time.Millisecond, Step: 150 * time.Millisecond},
			"the others wait for rank 2, step after step: look at its GPU, its host and its data [late it came so much later than the others in 45 of 50 steps by 20ms step_time 150ms]"},
		{Straggles{Rank: -1, Over: true}, "the others do not wait for a rank that does not say which it is any more []"},
	} {
		effects := n.Step(test.ev, n.now.Add(time.Second))
		if len(effects) != 1 {
			t.Fatalf("%+v", effects)
		}
		said, _ := effects[0].(Log)
		if got := fmt.Sprint(said.Text, " ", said.Args); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
