package remote

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

// readEnd bounds how long the host of a job that has ended stays for those who have not yet read so.
const readEnd = 10 * time.Second

// Close ends the store. Where the job has ended, the other nodes are given time to read that: their keys go when they
// have.
func (h *hosted) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), readEnd)
	defer cancel()
	if h.ended(ctx) {
		h.others(ctx)
	}
	err := h.Store.Close()
	if serverErr := h.server.Close(); err == nil {
		err = serverErr
	}
	return err
}

func (h *hosted) ended(ctx context.Context) bool {
	res, err := h.Commit(ctx, store.Txn{Read: []string{"job"}})
	if err != nil || len(res.Read) == 0 {
		return false
	}
	job, err := rendezvous.ParseJob("job", res.Read[0].Value)
	return err == nil && (job.Phase == rendezvous.Succeeded || job.Phase == rendezvous.Failed)
}

// others waits until no node has a key any more; our own is gone by now.
func (h *hosted) others(ctx context.Context) {
	there := map[string]bool{}
	for u := range h.Watch(ctx, "nodes/").Updates() {
		if u.Reset {
			clear(there)
		}
		for _, d := range u.Deleted {
			delete(there, d.Key)
		}
		for _, kv := range u.Changed {
			if kv.Leased {
				there[kv.Key] = true
			}
		}
		if len(there) == 0 {
			return
		}
	}
}
