package rounds_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

var unhealthy = end{214, exitcodes.Retry, "NodeUnhealthy"}

// TestPreflightBeforeTheFirstRound has a node find itself sick: nobody hears of it, and the others begin without it.
func TestPreflightBeforeTheFirstRound(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "1:2", append(quickFence, "--last-call", "1s", "--preflight")...)
	sick := p.start("sick", "--preflight-command", "false")
	p.all([]*node{sick}, unhealthy)
	fit := p.start("fit", "--preflight-command", "true")
	finish(p.round(0, 1))
	for _, e := range p.all([]*node{fit}, succeeded) {
		if strings.Contains(e.Stderr, "sick") {
			t.Errorf("it has heard of the sick node:\n%s", e.Stderr)
		}
	}
}

// TestPreflightBetweenRounds has a machine fall sick while it trains: after the second failure it finds that out, and the
// others continue without it, in the round after that at the latest.
func TestPreflightBetweenRounds(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "sick")
	p := sharedParty(t, "2:3", append(quickFence, "--last-call", "15s", "--restart-backoff", "2s:2s", "--preflight")...)
	nodes := []*node{p.start("n0"), p.start("n1"), p.start("n2", "--preflight-command", "test ! -e "+mark)}
	workers := p.round(0, 3)
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	workers[0].Do("kill 9") // the first failure is no reason to look
	workers = p.round(1, 3)
	workers[0].Do("kill 9")
	p.all(nodes[2:], unhealthy)
	round := 2
	p.until("workers of a round of two nodes", func(all []*worker) bool {
		for _, w := range all {
			if w.WorldSize == "2" { // round 3, where the look took longer than the pause: then round 2 has begun with the node
				round, _ = strconv.Atoi(w.Round)
				return true
			}
		}
		return false
	})
	last := p.round(round, 2)
	if of(last, "n0") == nil || of(last, "n1") == nil {
		t.Errorf("the ranks are those of %v", names(last))
	}
	finish(last)
	p.all(nodes[:2], succeeded)
}
