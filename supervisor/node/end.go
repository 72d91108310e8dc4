package node

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// endWith sets how this node ends, whatever happens to the others. It is the only place that does: the callers say why.
func (n *Node) endWith(m exitcodes.Message) { n.final = &m }

// endOrdered ends the run on this node.
func (n *Node) endOrdered(e End) {
	if n.final == nil {
		n.endWith(n.ending(&e.End))
		if why := n.whyEnding(e.End); why != (Ending{}) {
			n.do(why)
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

// whyEnding is what the job's end says beyond what this node has said of its own workers.
func (n *Node) whyEnding(e rendezvous.End) Ending {
	// Those who have lost the store cannot know whether the others have lost it, too.
	why := Ending{Why: e.Message, Alone: e.Reason != exitcodes.ReasonStoreLost && rendezvous.CanEndAlone(e.Reason)}
	switch c := e.Cause; {
	case e.Verdict == exitcodes.Success:
		return Ending{}
	case c == nil:
	case c.Message == e.Message:
		why.Why, why.Failure = "", c.Message
	case e.Spent != nil:
		why.Why, why.Limit, why.Failure = e.Spent.Says, e.Spent.Limit, c.Message
	}
	if own := n.verdict.message.Message; why.Failure == own {
		why.Failure = ""
	} else if why.Why == own {
		why.Why = ""
	}
	return why
}

// finish begins the end, once nothing of the workers is left: the exit hooks, if there are any, then the last output. If
// gangrun is killed meanwhile, the true verdict is written already.
func (n *Node) finish() {
	if n.preflight.under {
		n.preflight.under = false
		n.do(StopProbes{})
	}
	m := *n.final
	m.FinishedAt = n.now
	n.endWith(m)
	n.do(Record{m})
	if m.Verdict == exitcodes.Success {
		n.unrehearsed()
	}
	if n.beginHooks() {
		return
	}
	n.flush()
}

// flush writes the last output. It waits for a reader that is slow but reads on, no longer than what is left of the grace.
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
