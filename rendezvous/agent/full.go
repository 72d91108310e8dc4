package agent

import (
	"errors"
	"time"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// full is a store that answers, renews leases, and takes nothing more: since when, and in what words. What runs goes
// on, since nobody else can decide anything either.
type full struct {
	since time.Duration
	err   error
}

// tookWrite takes note of whether the store takes writes. Both halves of a node tell.
func (a *Agent) tookWrite(err error) {
	switch {
	case err == nil:
		a.full.Store(nil)
	case errors.Is(err, store.ErrFull):
		a.full.CompareAndSwap(nil, &full{since: max(a.clock(), 1), err: err})
	}
}

// room says when the store is full, and when it no longer is. What this node has to say is written again and again
// until then, even if only the leader's half has met it: nothing else would show that there is room.
func (n *node) room(at time.Duration) {
	f := n.full.Load()
	if f == nil {
		if n.fullSaid != 0 {
			n.log.Info("the store accepts writes again")
		}
		n.fullSaid = 0
		return
	}
	n.writer.dirty = n.writer.dirty || n.writer.claimed
	if n.fullSaid != 0 && at-n.fullSaid < sayAgain {
		return
	}
	n.fullSaid = max(at, 1)
	says := f.err.Error() + "; until then what runs keeps running, and nothing can be started or restarted"
	if n.started {
		n.log.Warn(says)
	} else {
		n.log.Warn(says, "gives_up_in", (f.since + n.cfg.StoreTimeout - at).Round(time.Second))
	}
}

// stillFull has the time that a full store is waited for begin now: until now workers ran.
func (n *node) stillFull() {
	if f := n.full.Load(); f != nil {
		n.full.CompareAndSwap(f, &full{since: max(n.clock(), 1), err: f.err})
	}
}
