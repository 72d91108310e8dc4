package node

import (
	"log/slog"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// begins prepares a round, unless this node is to leave.
func (n *Node) begins(b Begin) {
	if n.request != nil || n.final != nil || n.state != Waiting {
		n.do(Gone{Round: b.Round})
		return
	}
	n.transition(Starting)
	n.sayResume(b)
	n.begin, n.preflight.elsewhere = &b, ""
	n.pace, n.knows, n.save, n.note = pace{}, false, nil, ""
	n.do(Record{n.provisionalMessage()})
	n.expedited = false
	if b.Unresumed != "" {
		n.workers = []worker{{Worker: Worker{Rank: -1, LocalRank: -1}, accused: "cannot go on: " + b.Unresumed}}
		n.unstarted(0, Failure{Why: b.Unresumed})
		return
	}
	if !n.preflight.under { // else it waits for what is found
		n.do(Prepare{b})
	}
}

// abandon gives the round up before any of its workers runs.
func (n *Node) abandon() {
	n.transition(Waiting)
	if !n.preflight.under { // else nothing was asked for
		n.do(Abandon{})
	}
	n.do(Gone{Round: n.round()})
}

func (n *Node) anyForked() bool {
	return slices.ContainsFunc(n.workers, func(w worker) bool { return !w.ended && w.pid != 0 })
}

// prepared starts the round's workers, one after the other.
func (n *Node) prepared(p Prepared) {
	if n.state != Starting {
		return // it was given up
	}
	if p.Failure == nil && !p.MayStart {
		n.abandon()
		return
	}
	n.stuck, n.verdict, n.stopBy, n.alone = stuck{}, verdict{cause: -1}, time.Time{}, false
	n.workers, n.dumping, n.holding, n.mayBeHeld = nil, false, holding{}, false
	for _, w := range p.Workers {
		n.workers = append(n.workers, worker{Worker: w})
	}
	if p.Failure != nil {
		if len(n.workers) == 0 {
			n.workers = []worker{{Worker: Worker{Rank: -1, LocalRank: -1}}}
		}
		n.unstarted(p.Failed, *p.Failure)
		return
	}
	n.do(Fork{0})
}

func (n *Node) forked(f Forked) {
	w := &n.workers[f.Worker]
	w.pid, w.startedAt, n.alone = f.PID, n.now, false
	n.policy.Terminal.Handed, n.ran = f.Handed, true
	n.log(slog.LevelDebug, "worker started", "pid", f.PID, "round", n.round())
	if next := f.Worker + 1; next < len(n.workers) {
		n.do(Fork{next})
		return
	}
	n.transition(Running)
	if !n.failedAt.IsZero() {
		n.recovery = n.now.Sub(n.failedAt)
		n.log(slog.LevelInfo, "restarted", "round", n.round(), "recovery", n.recovery.Round(time.Millisecond))
		n.failedAt = time.Time{}
		n.do(Record{n.provisionalMessage()})
	}
}

func (n *Node) notForked(f NotForked) {
	if f.Worker == Hook {
		n.hookNotStarted(f.Failure)
		return
	}
	n.unstarted(f.Worker, f.Failure)
}

// unstarted ends a round because worker i could not be started: those that run already are stopped.
func (n *Node) unstarted(i int, why Failure) {
	n.transition(Running)
	n.workers[i].why = why.Why
	n.alone = !n.anyForked()
	n.stopOthers()
	for k := range n.workers {
		w := &n.workers[k]
		switch {
		case w.pid != 0:
			continue
		case k != i:
			w.stop = exitcodes.StoppedByGang
			n.ended(k, exitcodes.Status{}, n.now)
		default:
			n.ended(k, exitcodes.Status{Code: why.Code}, n.now)
		}
	}
}
