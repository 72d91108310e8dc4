package node

import (
	"fmt"
	"log/slog"
	"time"
)

// straggles says which rank makes the others wait. Nothing else follows: to end it would cost more than it does.
func (n *Node) straggles(ev Straggles) {
	if n.state != Running {
		return
	}
	who := fmt.Sprintf("rank %d", ev.Rank)
	if ev.Rank < 0 {
		who = "a rank that does not say which it is"
	}
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
		"by", ev.Excess.Round(time.Millisecond/10), "step_time", ev.Step.Round(time.Millisecond/10))
}
