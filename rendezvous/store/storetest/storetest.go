// Package storetest holds what every store must do, as tests that run against each of them.
package storetest

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// patience bounds what must happen. Nothing is asserted about how long it takes.
const patience = 30 * time.Second

// Run runs the tests. Each calls open for connections to one job of its own, named by the first argument.
func Run(t *testing.T, open func(t *testing.T, job string) store.Store) {
	tests := []struct {
		name string
		test func(*testing.T, func(string) store.Store)
	}{
		{"conditions", conditions},
		{"refusals", refusals},
		{"reads", reads},
		{"watch", watch},
		{"watch one key", watchOneKey},
		{"sync", syncs},
		{"many keys", manyKeys},
		{"compare and swap", compareAndSwap},
		{"jobs apart", jobsApart},
		{"before", before},
		{"lease", lease},
		{"lost lease", lostLease},
		{"silence", silence},
		{"election", election},
		{"candidate without a key", candidateGone},
		{"candidates by hand", candidatesByHand},
		{"end", end},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.test(t, func(job string) store.Store {
				s := open(t, tt.name+job)
				t.Cleanup(func() { s.Close() })
				return s
			})
		})
	}
}

// Wait waits for a channel to be closed.
func Wait(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("no %s", what)
	}
}

// Receive takes one value from a channel.
func Receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s", what)
		panic("not reached")
	}
}
