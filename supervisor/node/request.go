package node

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// stopRequest is a call for the end of this node from outside: a stop signal, the notice of one, the time limit.
type stopRequest struct {
	kind   string    // for the log
	what   string    // has come, for a person
	signal Signal    // with which the workers were stopped, as the exit code tells
	until  time.Time // the workers, and then what they leave behind and the exit hooks, have time
	saveBy time.Time // so long has a worker that saves a checkpoint; not before until
	saving bool      // one does: until is saveBy by now
}

// requested is what a signal that asks for the end means when it comes now.
func (n *Node) requested(sig Signal) *stopRequest {
	r := &stopRequest{kind: "stop signal", what: sig.String() + " from outside", signal: sig}
	grace := n.policy.Grace
	switch {
	case n.isNotice(sig):
		r.kind, r.what, r.signal = "notice", "the notice "+r.what, SIGTERM
		grace = n.policy.Notice.Grace
	case n.request != nil && sig == SIGINT: // a person who has waited long enough
		r.until, r.saveBy = n.now, n.now
		return r
	}
	r.until, r.saveBy = n.times(grace)
	return r
}

// times says until when the workers have time, and until when if they are saving a checkpoint by then. A time limit that was
// missed because gangrun itself did not run counts as over now.
func (n *Node) times(grace time.Duration) (until, saveBy time.Time) {
	until, saveBy = n.now.Add(grace), n.now.Add(max(grace, n.policy.SaveGrace))
	over := n.overBy()
	if !over.IsZero() && over.Before(n.now) {
		over = n.now
	}
	return earlier(until, over), earlier(saveBy, over)
}

// shorten is what a later request changes: no worker gets more time by it.
func (r *stopRequest) shorten(later *stopRequest) {
	r.until, r.saveBy = earlier(r.until, later.until), earlier(r.saveBy, later.saveBy)
	if r.saving {
		r.until = r.saveBy
	}
}

// named replaces the signal that the workers got by the request that led to it.
func (r *stopRequest) named(text string) string {
	return strings.Replace(text, r.signal.String()+" from outside", r.what, 1)
}

func (n *Node) isNotice(sig Signal) bool { return sig != 0 && sig == n.policy.Notice.Signal }

func (n *Node) asksToStop(sig Signal) bool { return slices.Contains(n.policy.StopSignals, sig) }

// overBy is when the run on this node has to be over; zero when there is no time limit.
func (n *Node) overBy() time.Time {
	if n.policy.TimeLimit == 0 {
		return time.Time{}
	}
	return n.policy.StartedAt.Add(n.policy.TimeLimit)
}

// doneBy is when everything has to be done; zero if there is no limit.
func (n *Node) doneBy() time.Time {
	if n.request != nil {
		return n.request.until
	}
	return n.overBy()
}

// limitAt is when the time limit gives notice; zero when it does not, or the end was called for before.
func (n *Node) limitAt() time.Time {
	if n.policy.TimeLimit == 0 || n.request != nil || n.state >= Hooking {
		return time.Time{}
	}
	return n.overBy().Add(-n.policy.Grace)
}

// limitDue stops the node when its time limit is near.
func (n *Node) limitDue() {
	if at := n.limitAt(); at.IsZero() || n.now.Before(at) {
		return
	}
	r := &stopRequest{kind: "time limit", what: fmt.Sprintf("the time limit of %v", n.policy.TimeLimit), signal: SIGTERM}
	r.until, r.saveBy = n.times(n.policy.Grace)
	n.stopFromOutside(r, SIGTERM)
}
