package agent

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// blind does not show the leader what becomes of the job's record.
type blind struct {
	store.Store
	mu   sync.Mutex
	left int // so often
}

func (b *blind) Watch(ctx context.Context, selector string) store.Watcher {
	w := b.Store.Watch(ctx, selector)
	if selector != "" {
		return w
	}
	out := &half{w, make(chan store.Update)}
	go func() {
		defer close(out.out)
		for u := range w.Updates() {
			b.mu.Lock()
			drop := b.left > 0 && !u.Reset && slices.ContainsFunc(u.Changed, func(kv store.KV) bool { return kv.Key == jobKey })
			if drop {
				b.left--
			}
			b.mu.Unlock()
			if drop {
				continue
			}
			select {
			case out.out <- u:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// half is a watch that does not show everything.
type half struct {
	store.Watcher
	out chan store.Update
}

func (h *half) Updates() <-chan store.Update { return h.out }

// TestTheLeaderComparesWhatItHasRead changes the job's record behind the leader's back, and then lets a worker fail: what
// the leader decides on its old view must not undo the change.
func TestTheLeaderComparesWhatItHasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		b := &blind{Store: m.Connect(clock)}
		p := join(t, b, "node0", rendezvous.DefaultSpec(1), nil)
		p.starts(0)
		time.Sleep(time.Second)
		b.mu.Lock()
		b.left = 2
		b.mu.Unlock()
		read := func() *rendezvous.Job {
			kv := storetest.Commit(t, byHand, store.Txn{Read: []string{jobKey}}).Read[0]
			job, err := rendezvous.ParseJob(kv.Key, kv.Value)
			if err != nil {
				t.Fatal(err)
			}
			return job
		}
		job := read()
		job.Seq++
		job.Handled = append(job.Handled, "behind its back")
		value, err := rendezvous.Encode(job)
		if err != nil {
			t.Fatal(err)
		}
		storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Put(jobKey, value)}})
		p.Failing(0, killed, nil)
		p.Gone(0, killed, nil)
		p.starts(1)
		if job := read(); !slices.Contains(job.Handled, "behind its back") || job.Round != 1 {
			t.Errorf("round %d, handled %v", job.Round, job.Handled)
		}
	})
}
