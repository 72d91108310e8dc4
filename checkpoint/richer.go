package checkpoint

import (
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
)

// lacksOptimizer reports whether a state is known to be without that of an optimizer: all of it was read.
func lacksOptimizer(c format.Checkpoint) bool {
	return c.Complete && c.Resumable && c.Format == "plain" && c.Level >= format.Manifests && !c.Optimizer && !c.Unsure
}

// heldMore finds what was cut while it was written over in place and held more than what would be resumed from instead: it is
// larger than weights with a step, clearly so under names of the same series, and was written later. nil when there is no such one.
func (p Policy) heldMore(s Scan, m History, chosen *format.Checkpoint, began bool, now time.Time) *format.Checkpoint {
	if chosen == nil || !lacksOptimizer(*chosen) {
		return nil
	}
	for i, c := range s.Checkpoints {
		what, _, _ := p.weigh(c, m, "", now)
		least := chosen.Size
		if c.Series() == chosen.Series() {
			least += least / 4
		}
		if what == ruined && !(began && m.lay(c)) && c.Size > least && c.Modified.After(chosen.Modified) {
			return &s.Checkpoints[i]
		}
	}
	return nil
}

// onlyLastRun takes back those of an earlier run in the same directory, which its dates tell.
func onlyLastRun(cs []format.Checkpoint, good []bool) {
	var places []int
	for i, is := range good {
		if is {
			places = append(places, i)
		}
	}
	clear(good)
	for _, i := range format.ByDate(cs, places) {
		good[i] = true
	}
}
