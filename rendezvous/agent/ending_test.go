package agent

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// deaf is a way to a store on which the end of a job gets no answer for some times, whether it was written or not.
type deaf struct {
	store.Store
	mu      sync.Mutex
	left    int
	grants  int
	written bool
}

func (d *deaf) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	d.mu.Lock()
	lost := txn.Ends != nil && d.left > 0
	if lost {
		d.left--
	}
	d.mu.Unlock()
	if !lost {
		return d.Store.Commit(ctx, txn)
	}
	if d.written {
		_, _ = d.Store.Commit(ctx, txn)
	}
	return store.Result{}, fmt.Errorf("no answer: %w", store.ErrUnreachable)
}

func (d *deaf) Grant(ctx context.Context, ttl time.Duration) (store.Lease, error) {
	d.mu.Lock()
	d.grants++
	d.mu.Unlock()
	return d.Store.Grant(ctx, ttl)
}

// TestAnEndThatIsWrittenAgain takes one lease for the record of a job that has ended, however often that has to be
// written: each would stay in the store for as long as the record.
func TestAnEndThatIsWrittenAgain(t *testing.T) {
	for name, written := range map[string]bool{"lost on its way": false, "its answer lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := store.NewInMemory()
				byHand := m.Connect(clock)
				defer byHand.Close()
				d := &deaf{Store: m.Connect(clock), left: 5, written: written}
				p := join(t, d, "node0", rendezvous.DefaultSpec(1), nil)
				p.starts(0)
				p.Gone(0, well, nil)
				p.ends()
				if d.grants != 1 {
					t.Errorf("%d leases were taken", d.grants)
				}
				time.Sleep(rendezvous.DefaultTTL + time.Minute)
				if left := storetest.Commit(t, byHand, store.Txn{Read: []string{""}}).Read; len(left) != 0 {
					t.Errorf("%d keys are left", len(left))
				}
			})
		})
	}
}
