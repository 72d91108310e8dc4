package agent

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// lender counts what is open of a store. granted is called as it grants a lease.
type lender struct {
	store.Store
	fails   int // so many attempts to join, first
	granted func()
	closed  atomic.Int64
	leases  atomic.Int64
}

type lent struct {
	store.Lease
	of *lender
}

func (l *lender) Join(_ context.Context, ttl time.Duration) (store.Lease, error) {
	if l.fails--; l.fails >= 0 {
		return nil, store.ErrUnreachable
	}
	lease, err := l.Store.Join(context.Background(), ttl) // the request was on its way
	if err == nil {
		l.leases.Add(1)
		l.granted()
	}
	return lent{lease, l}, err
}

func (l *lender) Close() error {
	l.closed.Add(1)
	return l.Store.Close()
}

func (l lent) Close(ctx context.Context) error {
	if l.of.closed.Load() > 0 {
		return errors.New("the store is closed")
	}
	l.of.leases.Add(-1)
	return l.Lease.Close(ctx)
}

// TestWhatComesAsTheNodeEndsIsGivenBack ends the node while it is about to hear of its store, or of its lease.
func TestWhatComesAsTheNodeEndsIsGivenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		fails  int
		opened bool // the node ends as the store is opened
	}{
		"a store":                           {opened: true},
		"a store and no lease":              {opened: true, fails: 1},
		"a lease":                           {},
		"a lease of a store that was known": {fails: 2},
	} {
		t.Run(name, func(t *testing.T) {
			for range 8 { // who ends may take what comes with it, or not
				synctest.Test(t, func(t *testing.T) {
					l := &lender{Store: store.NewInMemory().Connect(clock), fails: tc.fails}
					var ends atomic.Pointer[party]
					end := func() { ends.Load().stop() }
					l.granted = end
					p := join(t, l, "node0", rendezvous.DefaultSpec(1), func(c *Config) {
						c.Connect = func(context.Context) (store.Store, error) {
							time.Sleep(time.Second)
							if tc.opened {
								end()
							}
							return l, nil
						}
					})
					ends.Store(p)
					<-p.done
					if leases, closed := l.leases.Load(), l.closed.Load(); leases != 0 || closed != 1 {
						t.Errorf("%d leases are held, the store was closed %d times", leases, closed)
					}
				})
			}
		})
	}
}
