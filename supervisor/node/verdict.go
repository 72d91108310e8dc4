package node

import (
	"log/slog"
	"slices"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/words"
	"github.com/gangrun/gangrun/rendezvous"
)

// verdict is what this node says about its own part of a round.
type verdict struct {
	cause   int                // index of the worker that caused the end; -1 when there is none
	outcome rendezvous.Outcome // for the others
	message exitcodes.Message
}

// judge says why the round ended here. What follows from it the job decides.
func (n *Node) judge() verdict {
	findings := make([]exitcodes.Finding, len(n.workers))
	for i := range n.workers {
		findings[i] = n.workers[i].finding
	}
	if f, cause := exitcodes.Guilty(findings); cause >= 0 {
		v := n.afterFailure(f, cause)
		v.outcome = outcomeOf(crossing(findings))
		return v
	}
	return n.withoutFailure(findings)
}

// crossing is what the other nodes are told about this one's workers: which failed by itself, which rank the evidence names,
// and what a stopped one had said. Which of that is the cause is decided over all nodes.
func crossing(findings []exitcodes.Finding) exitcodes.Finding {
	f := exitcodes.Finding{Rank: -1, LocalRank: -1}
	if cause := exitcodes.Cause(findings); cause >= 0 {
		f = findings[cause]
	}
	f.Names, f.Hosts = nil, nil
	for _, g := range findings {
		f.Names, f.Hosts = append(f.Names, g.Names...), append(f.Hosts, g.Hosts...)
		switch {
		case g.Said == nil || g.Said.Role != exitcodes.RoleRoot:
		case f.Said == nil, accused(findings, g.Said.Rank) && !accused(findings, f.Said.Rank):
			f.Said = g.Said
		}
	}
	if f.Verdict == "" && f.Said != nil {
		f.Message, f.Rank, f.LocalRank = f.Said.Message, f.Said.Rank, f.Said.LocalRank
	}
	slices.Sort(f.Names)
	f.Names = slices.Compact(f.Names)
	slices.Sort(f.Hosts)
	f.Hosts = slices.Compact(f.Hosts)
	return f
}

// accused reports whether the evidence about another worker names the rank.
func accused(findings []exitcodes.Finding, rank int) bool {
	return slices.ContainsFunc(findings, func(f exitcodes.Finding) bool { return slices.Contains(f.Names, rank) })
}

// afterFailure is the verdict on a round in which a worker failed by itself.
func (n *Node) afterFailure(f exitcodes.Finding, cause int) verdict {
	args := []any{"verdict", f.Verdict, "reason", f.Reason}
	if f.Rule != "" {
		args = append(args, "rule", f.Rule)
	}
	if f.Unknown && f.CodeOverridden {
		args = append(args, "setting", words.SettingUnknown)
	}
	n.log(slog.LevelError, f.Message, append(args, "evidence", f.Evidence)...)
	v := verdict{cause: cause, outcome: outcomeOf(f), message: n.failure(f)}
	n.verdict.cause = cause
	switch {
	case n.request != nil && f.Verdict == exitcodes.Retry && !n.policy.StopVerdictWorker:
		v.message = n.stoppedBetween()
		n.endWith(v.message)
	case n.request != nil:
		n.endWith(v.message)
	case f.NodeFault: // a restart in place would only fail again: the job continues without this node
		n.endWith(v.message)
		n.do(Leave{Sick: f.Message})
	}
	return v
}

// withoutFailure is the verdict on a round in which no worker failed by itself: all succeeded, or they were stopped.
func (n *Node) withoutFailure(findings []exitcodes.Finding) verdict {
	f, answers := n.spokesman(findings)
	v := verdict{cause: -1, message: n.failure(f)}
	switch {
	case n.request != nil && f.Verdict == exitcodes.Retry && !(answers && n.policy.StopVerdictWorker):
		// It came while the workers were being stopped for the others' sake: their answers are to that.
		v.message = n.stoppedBetween()
		v.outcome = outcomeOf(preempted(n.request.signal, v.message.Message))
		n.endWith(v.message)
	case n.request != nil: // the answer to it, whatever it is
		v.outcome = outcomeOf(f)
		n.endWith(v.message)
	case !n.anyStopped():
		v.outcome = outcomeOf(f)
	default: // stopped for the others' sake
		v.message = n.waitingMessage()
		for i, g := range findings {
			if g.Said != nil && g.Said.Role == exitcodes.RoleRoot { // what they missed may have been this
				v = n.afterFailure(*g.Said, i)
				v.outcome = outcomeOf(crossing(findings))
				return v
			}
		}
	}
	return v
}

// spokesman is the finding that speaks for all, where none failed by itself: of a worker that was stopped from outside, where
// one was.
func (n *Node) spokesman(findings []exitcodes.Finding) (f exitcodes.Finding, outside bool) {
	f = findings[0]
	for i, g := range findings {
		called := n.workers[i].stop == exitcodes.StoppedOutside
		if g.Verdict == exitcodes.Preempted || called && !outside && f.Verdict != exitcodes.Preempted {
			f = g
		}
		outside = outside || called
	}
	return f, outside
}

func (n *Node) anyStopped() bool {
	for i := range n.workers {
		if n.workers[i].stop != exitcodes.NotStopped {
			return true
		}
	}
	return false
}
