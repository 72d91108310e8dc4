package node

import (
	"log/slog"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// dumpTime is how long Python processes have to write their stacks, which ends them. It takes milliseconds.
const dumpTime = 5 * time.Second

// endTime is for what has written its stacks to end of that: its parent may be stopped, or the news of it on its way.
const endTime = 250 * time.Millisecond

// hung ends workers that make no progress: first they write their stacks, which may show whom the others wait for. Who that
// is, is known once all are gone.
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
	alone := n.policy.Alone || ev.Failed || echo // no other node's ranks could tell more, or they are being ended already
	if alone {                                   // how far each is, is said with the verdict
		n.log(slog.LevelError, "the workers make no progress: stopping them", "why", ev.Why)
	} else { // they may only wait for a rank elsewhere
		n.log(slog.LevelWarn, "the workers make no progress: all nodes are to stop theirs, to find the rank that the others wait for", "why", ev.Why)
	}
	why := "made no progress: " + ev.Why
	if ev.Standing != "" {
		why += "; " + ev.Standing
	}
	f := exitcodes.Judge(exitcodes.Outcome{
		Node: n.policy.Node, Rank: -1, LocalRank: -1, At: n.now, Hang: &exitcodes.Hang{Why: why},
	}, exitcodes.NoRules())
	failing := Failing{Round: n.round(), Outcome: outcomeOf(f), Step: n.step()}
	if alone {
		n.do(failing)
		n.dump()
		return
	}
	n.endHung(holdTime)
	n.holding = holding{asked: true, failing: failing, until: n.now.Add(holdTime)}
	n.mayBeHeld = true
	n.do(Hold{})
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

// holdTime bounds how long workers that make no progress are held until all nodes ask theirs for their stacks at the same
// time. It is longer than the leader waits for nodes that have yet to find the same.
const holdTime = 3 * time.Second

// holding is the time between finding a hang and asking for the stacks, in a job of several nodes. If the ranks of one node
// were ended at once, ranks elsewhere that wait for them would fail too, and where they stood would be lost. So the ranks
// are held where they stand, the job is told, and its order to stop makes all nodes ask.
type holding struct {
	asked   bool      // to be held, which is still being done
	over    bool      // and is to be over as soon as it was
	failing Failing   // what the job is told then
	until   time.Time // they are held for so long at most, or it is tried for so long; zero: they are not
}

// held tells the job of the hang, now that it may have other nodes end their ranks.
func (n *Node) held() {
	if !n.holding.asked {
		return
	}
	over := n.holding.over
	n.tellHang()
	n.holding.until = n.now.Add(holdTime)
	if over {
		n.askStacks()
	}
}

// tellHang tells the job of the hang, unless it has been told.
func (n *Node) tellHang() {
	h := n.holding
	n.holding = holding{until: h.until}
	if h.asked {
		n.do(h.failing)
	}
}

// askStacks asks workers that are held for their stacks, as soon as they are.
func (n *Node) askStacks() {
	switch {
	case n.holding.asked:
		n.holding.over = true
	case !n.holding.until.IsZero():
		n.holding = holding{}
		n.do(Dump{})
	}
}

// heldLong asks for the stacks although the job has not said so, or the workers could not be held: whatever hangs may also
// block the search for their processes.
func (n *Node) heldLong() {
	n.tellHang()
	n.askStacks()
}

// dump asks the workers for their stacks and ends them.
func (n *Node) dump() {
	n.endHung(0)
	n.do(Dump{})
}

// endHung notes that the workers are ended for their hang, soon after they were held for so long.
func (n *Node) endHung(held time.Duration) {
	n.dumping, n.stopBy = true, time.Time{}
	killAt := n.now.Add(held + dumpTime + n.policy.RestartGrace)
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
}

// dumped ends what is left: soon if stacks were asked for, else as any worker is stopped.
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
			w.dumped = true
			w.clock.expedite(n.now.Add(endTime))
		default:
			n.stopWorker(i, exitcodes.StoppedByGang, SIGTERM, killAt, killAt)
			if n.mayBeHeld { // and could not answer
				n.do(Release{Worker: i})
			}
		}
	}
}
