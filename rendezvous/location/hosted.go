package location

import (
	"context"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/embedded"
)

// hosted is the store of a job in the node that hosts it.
type hosted struct {
	store.Store
	server *embedded.Server
}

// readEnd bounds how long the host of a job that has ended, or was suspended, stays for those who have not yet read so.
const readEnd = 10 * time.Second

// Close ends the store. Where the job has ended, or was suspended, the other nodes that leave for that, and whoever asked
// for it, are given time to read so: the nodes' keys go when they have.
func (h *hosted) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), readEnd)
	defer cancel()
	switch h.phase(ctx) {
	case rendezvous.Succeeded, rendezvous.Failed:
		h.others(ctx, func(*rendezvous.Node) bool { return true })
	case rendezvous.Suspended: // those that have come since stay, and wait
		h.others(ctx, func(n *rendezvous.Node) bool { return n.State != rendezvous.NodeWaiting })
	}
	err := h.Store.Close()
	if serverErr := h.server.Close(); err == nil {
		err = serverErr
	}
	return err
}

// phase is that of the job; empty when it cannot be told.
func (h *hosted) phase(ctx context.Context) rendezvous.Phase {
	res, err := h.Commit(ctx, store.Txn{Read: []string{"job"}})
	if err != nil || len(res.Read) == 0 {
		return ""
	}
	job, err := rendezvous.ParseJob("job", res.Read[0].Value)
	if err != nil {
		return ""
	}
	return job.Phase
}

// others waits until no node that leaves has a key any more; our own is gone by now.
func (h *hosted) others(ctx context.Context, leaves func(*rendezvous.Node) bool) {
	there := map[string]bool{}
	for u := range h.Watch(ctx, "nodes/").Updates() {
		if u.Reset {
			clear(there)
		}
		for _, d := range u.Deleted {
			delete(there, d.Key)
		}
		for _, kv := range u.Changed {
			n, err := rendezvous.ParseNode(kv.Key, kv.Value)
			if there[kv.Key] = err == nil && kv.Leased && leaves(n); !there[kv.Key] {
				delete(there, kv.Key)
			}
		}
		if len(there) == 0 {
			return
		}
	}
}
