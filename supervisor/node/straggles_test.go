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

// TestSlows: it is said of a node, too, in the round that runs.
func TestSlows(t *testing.T) {
	n := newWorld(t, Policy{}, ranks(3)...).start(0, 0).n
	slow := Slows{
		Node: "b", Minutes: 3, Own: 120 * time.Millisecond, Others: 100 * time.Millisecond, Step: 250 * time.Millisecond,
		Rank: 9, RankOwn: 131 * time.Millisecond,
	}
	over, left, before := slow, slow, slow
	over.Over, left.Over, left.Left, before.Round = true, true, true, 1
	for _, test := range []struct {
		ev   Slows
		want string
	}{
		{slow, "the others wait for node b, minute after minute: look at its GPUs, its processors and its data [late its ranks took 120ms of a step for their own part, those of the other nodes 100ms, 3 times in a row by 20ms step_time 250ms slowest rank 9: 131ms]"},
		{over, "the others do not wait for node b any more []"},
		{left, "this node does not compare the nodes any more; the one that leads now names b again if the others still wait for it []"},
		{before, ""},
	} {
		got := ""
		for _, e := range n.Step(test.ev, n.now.Add(time.Second)) {
			said, _ := e.(Log)
			got += fmt.Sprint(said.Text, " ", said.Args)
		}
		if got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}

	spare := newWorld(t, Policy{}, ranks(1)...).n // it compares the others, and waits itself
	if effects := spare.Step(slow, spare.now.Add(time.Second)); len(effects) != 1 {
		t.Errorf("%v", effects)
	}
}
