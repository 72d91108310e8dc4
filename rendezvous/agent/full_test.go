package agent

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// filled is a way to a store that is full at times: it reads, deletes and renews leases, and refuses the rest, as etcd
// does with its NOSPACE alarm.
type filled struct {
	store.Store
	full *atomic.Bool
}

var errFull = fmt.Errorf("etcd: commit: %w", store.ErrFull)

func (f filled) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	for _, op := range txn.Then {
		if !op.Delete && f.full.Load() {
			return store.Result{}, errFull
		}
	}
	return f.Store.Commit(ctx, txn)
}

func (f filled) Join(ctx context.Context, ttl time.Duration) (store.Lease, error) {
	if f.full.Load() {
		return nil, errFull
	}
	return f.Store.Join(ctx, ttl)
}

func (f filled) Grant(ctx context.Context, ttl time.Duration) (store.Lease, error) {
	if f.full.Load() {
		return nil, errFull
	}
	return f.Store.Grant(ctx, ttl)
}

// gangOfFilled is two nodes of a store that can be filled, and what they log.
func gangOfFilled(t *testing.T, full *atomic.Bool, log *heard) parties {
	t.Helper()
	m := store.NewInMemory()
	var nodes parties
	for i := range 2 {
		way := filled{m.Connect(clock), full}
		nodes = append(nodes, join(t, way, fmt.Sprint("node", i), rendezvous.DefaultSpec(2), func(c *Config) {
			c.Log = slog.New(slog.NewTextHandler(log, nil))
		}))
	}
	return nodes
}

// TestTheStoreIsFull fills the store in a round, and before the first: nobody leaves for it, what runs goes on, and the
// job goes on when there is room. It is said, and no restart is charged for it.
func TestTheStoreIsFull(t *testing.T) {
	t.Run("before the first round", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var full atomic.Bool
			var log heard
			full.Store(true)
			nodes := gangOfFilled(t, &full, &log)
			time.Sleep(DefaultStoreTimeout - time.Minute)
			if !log.has("the store is full") || log.has("does not answer") || log.has("cannot be reached") {
				t.Errorf("it says %s", log.all())
			}
			full.Store(false)
			nodes.start(0)
			nodes.succeed(0)
			if n := strings.Count(log.all(), "the store accepts writes again"); n != len(nodes) {
				t.Errorf("%d nodes say that it is over: %s", n, log.all())
			}
		})
	})
	t.Run("in a round", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var full atomic.Bool
			var log heard
			nodes := gangOfFilled(t, &full, &log)
			nodes.start(0)
			time.Sleep(time.Minute)
			full.Store(true)
			time.Sleep(time.Hour) // it has nothing to say
			nodes[1].Failing(0, killed, nil)
			nodes[1].Gone(0, killed, nil)
			time.Sleep(DefaultStoreTimeout - time.Minute)
			nodes.hearNothing()
			full.Store(false)
			nodes[0].stops()
			nodes.start(1)
			nodes.succeed(1)
		})
	})
	t.Run("for the leader alone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var full atomic.Bool
			var log heard
			m := store.NewInMemory()
			nodes := parties{
				join(t, filled{m.Connect(clock), &full}, "node0", rendezvous.DefaultSpec(2), func(c *Config) {
					c.Log = slog.New(slog.NewTextHandler(&log, nil))
				}),
			}
			time.Sleep(time.Second) // so it leads
			full.Store(true)
			nodes = append(nodes, join(t, m.Connect(clock), "node1", rendezvous.DefaultSpec(2), nil))
			time.Sleep(time.Minute)
			if !log.has("the store is full") {
				t.Errorf("it says %s", log.all())
			}
			full.Store(false)
			nodes.start(0)
			nodes.succeed(0)
		})
	})
	t.Run("for good", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var full atomic.Bool
			var log heard
			nodes := gangOfFilled(t, &full, &log)
			nodes.start(0)
			full.Store(true)
			for _, p := range nodes {
				p.Failing(0, killed, nil)
				p.Gone(0, killed, nil)
			}
			began := time.Now()
			time.Sleep(DefaultStoreTimeout - time.Minute)
			for _, p := range nodes {
				e := p.ends()
				if e.Code != exitcodes.CodeStoreLost || !strings.Contains(e.Message, "the store is full") {
					t.Errorf("%+v", *e)
				}
			}
			if took := time.Since(began); took < DefaultStoreTimeout {
				t.Errorf("it was waited for %v only", took)
			}
		})
	})
}
