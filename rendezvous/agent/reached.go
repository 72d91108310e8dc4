package agent

import (
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// progressEach is how often a node writes how far its workers have come while they get on: an etcd that nobody compacts
// keeps every one of them.
const progressEach = time.Minute

// getsOn is what Agent.Progressed was told last.
type getsOn struct {
	rendezvous.Reached
	still bool
}

// reached is how far a node's workers have come, as it stands in the store, or is to.
type reached struct {
	value string // empty: nobody tells
	lease store.Lease
	round int
	still bool
	busy  bool
	at    time.Duration // when it was written
}

// reachedNow is how far the workers have come by now.
func (n *node) reachedNow() reached {
	p := n.progress.Load()
	if p == nil {
		return reached{}
	}
	now := p.Reached
	now.V, now.Still = 1, p.still
	value, err := rendezvous.Encode(&now)
	if err != nil {
		return reached{}
	}
	return reached{value: string(value), lease: n.link.lease, round: now.Round, still: p.still, busy: now.Busy != "", at: n.clock()}
}

// differs reports whether the store has something else.
func (r reached) differs(there reached) bool {
	return r.value != "" && (r.value != there.value || r.lease != there.lease)
}

// due reports whether it is to be written while the workers run: at once where they may hang, since then somebody
// compares the nodes, and where others may wait for them, or do so no more.
func (r reached) due(there reached) bool {
	return r.differs(there) && (r.still || there.still || r.busy != there.busy || r.lease != there.lease || r.round != there.round || r.at-there.at >= progressEach)
}

func (n *node) putReached(r reached) store.Op {
	return store.PutLeased(progress+store.Escape(n.cfg.Name), []byte(r.value), r.lease)
}
