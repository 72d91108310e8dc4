package node

import (
	"fmt"
	"log/slog"
	"time"
)

// straggles says which rank makes the others wait. Nothing else follows: ending it would cost more than it does.
func (n *Node) straggles(ev Straggles) {
	if n.state != Running {
		return
	}
	who := named(ev.Rank)
	if ev.Over {
		n.log(slog.LevelInfo, "the others do not wait for "+who+" any more")
		return
	}
	did := "came so much later than the others"
	if ev.Own {
		did = "took so much longer than the others for its own part"
	}
	n.log(slog.LevelWarn, "the others wait for "+who+", step after step: look at its GPU, its host and its data",
		"late", fmt.Sprintf("it %s in %d of %d steps", did, ev.Late, ev.Steps),
		"by", tenth(ev.Excess), "step_time", tenth(ev.Step))
}

// slows says which node makes the others wait. Nothing else follows either. A node that compares them may have no workers
// itself: it is a spare, or its own have done their work.
func (n *Node) slows(ev Slows) {
	if n.state != Waiting && (n.state != Running || ev.Round != n.round()) {
		return
	}
	switch {
	case ev.Left:
		n.log(slog.LevelInfo, "this node does not compare the nodes any more; the one that leads now names "+ev.Node+
			" again if the others still wait for it")
		return
	case ev.Over:
		n.log(slog.LevelInfo, "the others do not wait for node "+ev.Node+" any more")
		return
	}
	n.log(slog.LevelWarn, "the others wait for node "+ev.Node+", minute after minute: look at its GPUs, its processors and its data",
		"late", fmt.Sprintf("its ranks took %v of a step for their own part, those of the other nodes %v, %d times in a row",
			tenth(ev.Own), tenth(ev.Others), ev.Minutes),
		"by", tenth(ev.Own-ev.Others), "step_time", tenth(ev.Step),
		"slowest", fmt.Sprintf("%s: %v", named(ev.Rank), tenth(ev.RankOwn)))
}

// tenth is d to the tenth of a millisecond.
func tenth(d time.Duration) time.Duration { return d.Round(time.Millisecond / 10) }

// named is a rank as a person reads it.
func named(rank int) string {
	if rank < 0 {
		return "a rank that does not say which it is"
	}
	return fmt.Sprintf("rank %d", rank)
}
