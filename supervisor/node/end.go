package node

import (
	"log/slog"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// endWith sets how this node ends whatever becomes of the others. It is the only place that does: the callers say why.
func (n *Node) endWith(m exitcodes.Message) { n.final = &m }

// endOrdered ends the run on this node.
func (n *Node) endOrdered(e End) {
	if n.final == nil {
		m := n.ending(&e.End)
		n.endWith(m)
		args := []any{"verdict", e.Verdict, "reason", e.Reason, "code", m.ExitCode}
		switch {
		case e.Verdict == exitcodes.Success || m.Message == n.verdict.message.Message: // said, or nothing to say
		case e.Verdict == exitcodes.Suspended:
			n.log(slog.LevelInfo, "leaving: "+e.Message, args...)
		case e.Reason == exitcodes.ReasonStoreLost: // the others are unknown, who may have lost it, too
			n.log(slog.LevelError, "this node leaves: "+e.Message, args...)
		case rendezvous.CanEndAlone(e.Reason):
			n.log(slog.LevelError, "this node leaves, and the job continues without it: "+e.Message, args...)
		default:
			n.log(slog.LevelError, "the job is over: "+strings.TrimSuffix(e.Message, "; "+n.verdict.message.Message), args...) // said
		}
	}
	n.over, n.endsJob = true, e.EndsJob
	if n.state == Starting {
		n.abandon()
	}
	if n.state == Waiting {
		n.finish()
	}
}

// finish begins the end, nothing of the workers being left: the exit hooks, if there are any to run, then the last
// output. A kill meanwhile leaves the true verdict.
func (n *Node) finish() {
	if n.preflight.under {
		n.preflight.under = false
		n.do(StopProbes{})
	}
	m := *n.final
	m.FinishedAt = n.now
	n.endWith(m)
	n.do(Record{m})
	if n.beginHooks() {
		return
	}
	n.flush()
}

// flush writes out what is still to be seen. A reader that is slow but goes on is waited for, not beyond what is left of
// the grace.
func (n *Node) flush() {
	n.transition(Flushing)
	n.flushBy = n.now.Add(flushTime)
	n.limitFlush()
	n.do(Flush{})
}

func (n *Node) limitFlush() {
	if by := n.doneBy(); !by.IsZero() {
		if soon := n.now.Add(flushAtStop); by.Before(soon) {
			by = soon
		}
		n.flushBy = earlier(n.flushBy, by)
	}
}

// signaledInFlush starts the clock of the grace if no request did before; a later one ends the wait.
func (n *Node) signaledInFlush(sig Signal, asks bool) {
	switch {
	case !asks && !sig.ambiguous():
	case n.request == nil:
		n.request = n.requested(sig)
		n.limitFlush()
	default:
		n.flushBy = n.now
	}
}

func (n *Node) flushed() {
	if n.state == Flushing {
		n.flushBy = time.Time{}
		n.transition(Ended)
	}
}
