package agent

import (
	"errors"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

const (
	sayAfter = time.Second      // most reasons to wait are over sooner, and nobody needs to know
	sayAgain = 30 * time.Second // then the reason is repeated
)

// say logs why the node waits, when that is due. What else there is to say of it does not make it another reason.
func (n *node) say(why string, more ...any) {
	if n.due(why) {
		n.log.Info("waiting", append([]any{"why", why}, more...)...)
	}
}

// due reports whether to say now why the node waits: once it has waited for a while, and now and then.
func (n *node) due(why string) bool {
	now := time.Now()
	if why != n.why {
		n.why, n.whySince, n.saidAt = why, now, time.Time{}
	}
	if now.Sub(n.whySince) < sayAfter || now.Sub(n.saidAt) < sayAgain {
		return false
	}
	n.saidAt = now
	return true
}

// backoff tells of a pause before the next round.
func (n *node) backoff() string {
	if j := n.reading.Job; j != nil && j.Phase == rendezvous.Forming && j.NotBefore.After(n.now()) {
		return "; restarting not before " + j.NotBefore.Local().Format(time.TimeOnly)
	}
	return ""
}

// newStore tells until when a store that took the place of another one may form nothing.
func (n *node) newStore() string {
	until := n.newSince.Add(time.Duration(n.cfg.Spec.Fence))
	if n.newSince.IsZero() || n.reading.Round != nil || !until.After(n.now()) {
		return ""
	}
	return "; the store is new, and nodes that knew the one before may run until " + until.Local().Format(time.TimeOnly)
}

// unreachable is why a node waits that does not reach the store.
func (n *node) unreachable() string {
	switch {
	case n.link.err == nil || errors.Is(n.link.err, store.ErrFull):
		return "the store does not answer"
	case errors.Is(n.link.err, store.ErrUnreachable):
		return n.link.err.Error()
	}
	return "the store cannot be reached: " + n.link.err.Error()
}

// sayUnreachable says so, and until when a node without workers waits for it.
func (n *node) sayUnreachable() {
	if n.started || n.lostAt == 0 {
		n.say(n.unreachable())
		return
	}
	n.say(n.unreachable(), "gives_up_in", (n.cfg.StoreTimeout - (n.clock() - n.lostAt)).Round(time.Second))
}

// lost takes note of when the store was last heard of, as far as anybody noticed. Only a renewal that was sent since
// and has been answered takes that back (guard): there is always one under way while there is a lease, and nothing else
// is sure to be sent.
func (n *node) lost() {
	if n.lostAt != 0 {
		return
	}
	n.lostAt = max(n.clock(), 1)
	// When the time is over already, the order to stop says so.
	if left := n.self.Guard.StopAt() - n.lostAt; n.started && left > 0 {
		n.lostSaid = true
		n.log.Warn(n.unreachable()+"; training continues for now", "stops_in", left.Round(100*time.Millisecond))
	}
}

// leaseLost takes note of a lease that the store has ended: it answers, and only wants to be joined again.
func (n *node) leaseLost() {
	if n.lostAt == 0 {
		n.lostAt = max(n.clock(), 1)
	}
	if n.started {
		n.log.Warn("the store ended this node's lease: rejoining")
	}
}

// found takes back what lost has noted.
func (n *node) found() {
	if n.lostAt != 0 && n.lostSaid {
		n.log.Info("the store answers again")
	}
	n.lostAt, n.lostSaid = 0, false
}
