package node

import (
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// rehearse does the kills that are due. What follows is what would follow a real failure.
func (n *Node) rehearse() {
	n.rehearsal = slices.DeleteFunc(n.rehearsal, func(k Kill) bool {
		i := n.workerOf(k)
		if i < 0 || !k.due(&n.workers[i], n.now) {
			return false
		}
		n.log(slog.LevelWarn, "rehearsing a failure, as it was asked for", "worker", n.workers[i].String(), "signal", k.Signal.String())
		n.do(Send{Worker: i, Signal: k.Signal})
		return true
	})
}

// workerOf is the index of the running worker that the kill is for, or -1.
func (n *Node) workerOf(k Kill) int {
	return slices.IndexFunc(n.workers, func(w worker) bool { return w.Rank == k.Rank && !w.ended })
}

func (k Kill) due(w *worker, now time.Time) bool {
	if k.AtStep == nil {
		return !now.Before(w.startedAt.Add(k.After))
	}
	return w.report.Step != nil && *w.report.Step >= *k.AtStep
}

// nextKill is when the next kill by the clock is due; zero when there is none.
func (n *Node) nextKill() (next time.Time) {
	for _, k := range n.rehearsal {
		if i := n.workerOf(k); i >= 0 && k.AtStep == nil {
			next = earlier(next, n.workers[i].startedAt.Add(k.After))
		}
	}
	return next
}

// unrehearsed says which failures never came in a run that succeeded: whoever asked for them has seen nothing.
func (n *Node) unrehearsed() {
	for _, k := range n.rehearsal {
		i := slices.IndexFunc(n.workers, func(w worker) bool { return w.Rank == k.Rank })
		if i < 0 {
			continue // it runs elsewhere
		}
		w, why := &n.workers[i], ""
		switch {
		case k.AtStep == nil:
			why = fmt.Sprintf("it ended before %v", k.After)
		case w.report.Step == nil:
			why = "it reported no step; one that it only prints does not count"
		default:
			why = fmt.Sprintf("the last step that it reported was %d", *w.report.Step)
		}
		n.log(slog.LevelWarn, "the failure that was to be rehearsed did not come", "worker", w.String(), "why", why)
	}
}
