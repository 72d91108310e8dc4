package rounds_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// quickFence is the shortest fence that goes with a grace of one second, with room for a machine that is busy.
var quickFence = []string{"--fence-timeout", "16s", "--restart-grace", "1s", "--restart-backoff", "1ms:2ms"}

// patientCall is a last call that whoever is there comes to, also where the machine stands still for some seconds.
var patientCall = []string{"--last-call", "10s"}

// TestElastic begins with three of two to four nodes, loses one, and continues with two; with the next restart it
// admits two more, and leaves a fifth waiting.
func TestElastic(t *testing.T) {
	harness.Costly(t)
	t.Parallel()
	p := sharedParty(t, "2:4", append(quickFence, patientCall...)...)
	nodes := p.startAll(3)
	first := p.round(0, 3)
	lost := nodes[slices.IndexFunc(nodes, func(n *node) bool { return n.name == first[1].Node })]
	p.kill(lost)
	second := p.round(1, 2)
	p.is(second, first[0].Node, first[2].Node)
	nodes = slices.DeleteFunc(nodes, func(n *node) bool { return n == lost })
	for _, name := range []string{"n3", "n4"} {
		n := p.start(name)
		n.Await("round 1 runs without this node")
		nodes = append(nodes, n)
	}
	second[0].Do("kill 9")
	third := p.round(2, 4)
	p.is(third, first[0].Node, first[2].Node, "n3", "n4")
	spare := p.start("n5")
	spare.Await("round 2 runs without this node")
	third[3].Do("kill 9")
	last := p.round(3, 4)
	p.is(last, names(third)...)
	finish(last)
	p.all(append(nodes, spare), succeeded)
}

// TestTooFew waits for a node that does not come.
func TestTooFew(t *testing.T) {
	t.Parallel()
	t.Run("before the first round", func(t *testing.T) {
		t.Parallel()
		p := sharedParty(t, "4", "--join-timeout", "3s")
		for _, e := range p.all(p.startAll(3), end{211, exitcodes.Retry, "RendezvousTimeout"}) {
			if !strings.Contains(e.Message.Message, "3 of 4 nodes") {
				t.Errorf("it does not say how many are missing: %s", e.Raw)
			}
		}
	})
	t.Run("a rank", func(t *testing.T) {
		t.Parallel()
		p := sharedParty(t, "3", "--join-timeout", "3s")
		nodes := []*node{p.start("n0", "--node-rank", "0"), p.start("n2", "--node-rank", "2")}
		for _, e := range p.all(nodes, end{211, exitcodes.Retry, "RendezvousTimeout"}) {
			if !strings.Contains(e.Message.Message, "2 of 3 nodes") || !strings.Contains(e.Message.Message, "rank 1") {
				t.Errorf("it does not say who is missing: %s", e.Raw)
			}
		}
	})
	t.Run("after a loss", func(t *testing.T) {
		t.Parallel()
		p := sharedParty(t, "3", append(quickFence, "--join-timeout", "3s")...)
		nodes := p.startAll(3)
		p.round(0, 3)
		p.kill(nodes[1])
		for _, e := range p.all([]*node{nodes[0], nodes[2]}, end{211, exitcodes.Retry, "RendezvousTimeout"}) {
			if !strings.Contains(e.Message.Message, "2 of 3 nodes") || !strings.Contains(e.Message.Message, "n1") {
				t.Errorf("it does not say who is missing: %s", e.Raw)
			}
		}
	})
}
