package agent

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// metered counts what passes between a node and its store.
type metered struct {
	store.Store
	*meter
}

type meter struct {
	requests, bytes, streams atomic.Int64
	events                   atomic.Int64 // of the nodes' own watches: what the leader hears besides is not counted
}

func (m *meter) add(list []store.KV) {
	for _, kv := range list {
		m.bytes.Add(int64(len(kv.Key) + len(kv.Value)))
	}
}

func (m metered) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	m.requests.Add(1)
	for _, c := range txn.If {
		m.bytes.Add(int64(len(c.Key)))
	}
	for _, op := range txn.Then {
		m.bytes.Add(int64(len(op.Key) + len(op.Value)))
	}
	res, err := m.Store.Commit(ctx, txn)
	m.add(res.Read)
	return res, err
}

func (m metered) Watch(ctx context.Context, selector string) store.Watcher {
	m.streams.Add(1)
	return meteredWatch{through(ctx, m.Store.Watch(ctx, selector), func(u *store.Update) bool {
		if selector != "" {
			m.events.Add(1)
		}
		m.add(u.Changed)
		for _, d := range u.Deleted {
			m.bytes.Add(int64(len(d.Key)))
		}
		return true
	}), m.meter}
}

type meteredWatch struct {
	*half
	meter *meter
}

func (m meteredWatch) Sync(rev int64) {
	m.meter.requests.Add(1)
	m.half.Sync(rev)
}

// What a round may cost each node, however many there are.
const (
	mostBytes    = 8 << 10
	mostRequests = 4
	mostEvents   = 2 // stop, start
	mostStreams  = 2 // the job's record, and the candidate before it; the leader has one more
)

// TestWhatARoundCosts counts what passes between the nodes and their store in a restart: for each node no more of it
// where there are more nodes.
func TestWhatARoundCosts(t *testing.T) {
	var first, bytes float64
	for _, n := range []int{4, 16, 64, 256} {
		if n > 64 && testing.Short() {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			const rounds = 3
			memory, all := store.NewInMemory(), new(meter)
			spec := rendezvous.DefaultSpec(n)
			spec.Restarts = rendezvous.Restarts{Max: 1 << 20, Exhausted: rendezvous.ExhaustedRetry}
			var nodes []*party
			for i := range n {
				nodes = append(nodes, join(t, metered{memory.Connect(clock), all}, fmt.Sprintf("trainer-%04d", i), spec, func(c *Config) {
					c.Lease = time.Hour // its checks would be counted, too
				}))
			}
			for _, p := range nodes {
				p.starts(0)
			}
			time.Sleep(2 * time.Second)
			if streams := all.streams.Load(); streams > int64(mostStreams*n) { // nobody is before the leader
				t.Errorf("%d nodes watch %d times, want at most %d for each", n, streams, mostStreams)
			}
			all.requests.Store(0)
			all.bytes.Store(0)
			all.events.Store(0)
			for round := range rounds {
				nodes[n/2].Failing(round, killed, nil)
				nodes[n/2].Gone(round, killed, nil)
				for i, p := range nodes {
					if i != n/2 {
						p.stops()
					}
				}
				for _, p := range nodes {
					p.starts(round + 1)
				}
				time.Sleep(2 * time.Second)
			}
			each := float64(n * rounds)
			requests := float64(all.requests.Load()) / each
			bytes = float64(all.bytes.Load()) / each
			events := float64(all.events.Load()) / each
			t.Logf("%d nodes: %.1f requests, %.1f events and %.0f bytes for each node and round", n, requests, events, bytes)
			if requests > mostRequests || bytes > mostBytes || events > mostEvents {
				t.Errorf("want at most %d requests, %d events and %d bytes", mostRequests, mostEvents, mostBytes)
			}
			if first == 0 {
				first = bytes
			}
		})
	}
	if bytes > 1.2*first {
		t.Errorf("%.0f bytes among many nodes, %.0f among four", bytes, first)
	}
}
