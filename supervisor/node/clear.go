package node

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/exitcodes"
)

// leftovers are the processes that the workers of a round have left behind, while they are removed.
type leftovers struct {
	clock clock
	asked bool // SIGTERM was sent, and what there was is not known yet
}

// stuck is what not even SIGKILL has ended.
type stuck struct {
	names []string
	pids  map[int]bool
}

func (s *stuck) add(name string, pids ...int) {
	if s.pids == nil {
		s.pids = map[int]bool{}
	}
	s.names = append(s.names, name)
	for _, pid := range pids {
		s.pids[pid] = true
	}
}

// without are the processes, except those that are known to be stuck.
func (s *stuck) without(found []Process) []Process {
	return slices.DeleteFunc(slices.Clone(found), func(p Process) bool { return s.pids[p.PID] })
}

// restarts reports whether another round may follow this one: then nothing of this one may stay. The job decides about that
// once nothing has.
func (n *Node) restarts() bool {
	v := n.verdict.message.Verdict
	failed := !n.policy.NoRestart && (v == exitcodes.Retry || v == exitcodes.Fatal && n.policy.RestartAny)
	return n.final == nil && (failed || n.verdict.outcome.Verdict == "") // or it was only stopped, for the others' sake
}

// clear asks leftover processes to end.
func (n *Node) clear() {
	n.left = leftovers{}
	if n.alone || !n.restarts() && n.policy.Leftovers == LeftoversLeave {
		n.cleared()
		return
	}
	n.left.asked = true
	n.do(Sweep{SIGTERM, "the worker left processes behind: SIGTERM"})
}

// swept handles what a look at the leftovers has found.
func (n *Node) swept(found []Process) {
	if n.state == Hooking {
		n.hookSwept(found)
		return
	}
	if n.state != Clearing {
		return
	}
	l := &n.left
	found = n.stuck.without(found) // nobody waits for those a second time
	switch {
	case len(found) == 0:
		n.cleared()
	case l.asked:
		l.asked = false
		if !n.restarts() && n.policy.Leftovers == LeftoversTerm {
			n.cleared()
			return
		}
		until := n.now.Add(leftoverGrace)
		if !n.restarts() && n.request != nil && !n.expedited {
			until = n.request.until // what remains of it
		}
		l.clock.limit(until, until)
	case l.clock.stuck(found, n.now):
		n.log(slog.LevelError, "processes survive SIGKILL; they are stuck in the kernel", "processes", Names(found))
		n.stuck.add(Names(found), pidsOf(found)...)
		n.cleared()
	}
}

// leftoversDue kills, again and again since processes may fork while they are killed.
func (n *Node) leftoversDue() {
	switch n.left.clock.ring(n.now, false, sweepAgain) {
	case kill:
		n.do(Sweep{SIGKILL, "what the worker left behind did not stop: SIGKILL"})
	case look:
		n.do(Sweep{Signal: SIGKILL})
	}
}

func (n *Node) clearedIfAlone() {
	if n.state == Clearing && n.alone {
		n.cleared()
	}
}

// cleared ends a round of which nothing is left: the job is told, and says what follows.
func (n *Node) cleared() {
	n.do(Forget{})
	if len(n.stuck.names) > 0 {
		n.unhealthy()
	}
	n.transition(Waiting)
	n.do(Gone{Round: n.round(), Outcome: n.verdict.outcome, Step: n.step()})
	n.examineAgain()
	if n.over {
		n.finish()
	}
}

// unhealthy ends the run on this node: a process of the last round cannot be removed and may hold a GPU, so no new round
// may start here. An end that is final, or was asked for, is not changed.
func (n *Node) unhealthy() {
	m := n.verdict.message
	if m.Verdict == exitcodes.Retry {
		m.Reason, m.ExitCode = exitcodes.ReasonNodeUnhealthy, exitcodes.CodeNodeUnhealthy
	}
	m.Message += "; stuck in the kernel in spite of SIGKILL: " + strings.Join(n.stuck.names, ", ")
	n.do(Record{m})
	n.endWith(m)
	n.do(Leave{Sick: m.Message})
}

func pidsOf(found []Process) (pids []int) {
	for _, p := range found {
		pids = append(pids, p.PID)
	}
	return pids
}
