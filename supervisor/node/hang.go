package node

import (
	"log/slog"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// dumpTime is how long Python processes have to write their stacks, of which they end. It takes milliseconds.
const dumpTime = 5 * time.Second

// endTime is for what has written its stacks to end of that: its parent may be stopped, or the news of it on its way.
const endTime = 250 * time.Millisecond

// hung ends workers that get nowhere: first with their stacks, which may tell whom the others wait for. Whoever that is
// is known once all are gone.
func (n *Node) hung(ev Hung) {
	echo := !n.stopBy.IsZero() // one has failed, as those do that wait for a rank which is ended elsewhere
	if n.state != Running || n.request != nil || n.dumping || !n.failedAt.IsZero() && !echo {
		return // they are stopped already
	}
	if n.finished(ev) {
		n.release(ev)
		return
	}
	n.failedAt = earlier(n.failedAt, n.now)
	n.log(slog.LevelError, "the workers get nowhere: ending them", "why", ev.Why) // how far each is, is said with the verdict
	why := "got nowhere: " + ev.Why
	if ev.Standing != "" {
		why += "; " + ev.Standing
	}
	f := exitcodes.Judge(exitcodes.Outcome{
		Node: n.policy.Node, Rank: -1, LocalRank: -1, At: n.now, Hang: &exitcodes.Hang{Why: why},
	}, exitcodes.NoRules())
	n.do(Failing{Round: n.round(), Outcome: outcomeOf(f), Step: n.step()})
	n.dump()
}

// finished reports whether those that live have done all their work: the others have succeeded, and they have said that
// they are about to end; or one is left, and no step that it has told is missing from the newest checkpoint.
func (n *Node) finished(ev Hung) bool {
	if ev.Failed {
		return false
	}
	var last *worker
	alive := 0
	for i := range n.workers {
		switch w := &n.workers[i]; {
		case !w.ended:
			last = w
			alive++
		case !w.judged || w.finding.Verdict != exitcodes.Success:
			return false
		}
	}
	return ev.Exiting || alive == 1 && len(n.workers) > 1 && n.allSaved(last)
}

// allSaved reports whether the newest checkpoint has every step that the worker has told.
func (n *Node) allSaved(w *worker) bool {
	return n.saved != nil && n.saved.Unit == "" && w.report.Step != nil && n.saved.Step >= *w.report.Step
}

// release ends workers that have done all their work and do not end by themselves.
func (n *Node) release(ev Hung) {
	killAt := n.now.Add(n.policy.RestartGrace)
	for i := range n.workers {
		if w := &n.workers[i]; !w.ended && w.lingered == "" {
			w.lingered = ev.Why
			n.log(slog.LevelWarn, "a worker has finished and does not end: ending it, which is a success", "worker", w.String(), "why", ev.Why)
			n.stopWorker(i, exitcodes.NotStopped, SIGTERM, killAt, killAt)
		}
	}
}

// dump asks the workers for their stacks and ends them.
func (n *Node) dump() {
	n.dumping, n.stopBy = true, time.Time{}
	killAt := n.now.Add(dumpTime + n.policy.RestartGrace)
	for i := range n.workers {
		w := &n.workers[i]
		if w.ended || w.pid == 0 {
			continue
		}
		if w.stop == exitcodes.NotStopped {
			w.stop, w.stoppedAt = exitcodes.StoppedByGang, n.now
		}
		w.clock.limit(killAt, killAt)
	}
	n.do(Dump{})
}

// dumped ends what is left: soon where there are stacks or were to be, else as any worker is stopped.
func (n *Node) dumped(ev Dumped) {
	if n.state != Running || !n.dumping {
		return
	}
	asked := map[int]bool{}
	for _, i := range ev.Asked {
		asked[i] = true
	}
	killAt := n.now.Add(n.policy.RestartGrace)
	for i := range n.workers {
		switch w := &n.workers[i]; {
		case w.ended || w.pid == 0:
		case asked[i]:
			w.clock.expedite(n.now.Add(endTime))
		default:
			n.stopWorker(i, exitcodes.StoppedByGang, SIGTERM, killAt, killAt)
		}
	}
}
