package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// apply is what a reader makes of an update.
func apply(seen map[string]int64, u store.Update) {
	if u.Reset {
		clear(seen)
	}
	for _, d := range u.Deleted {
		delete(seen, d.Key)
	}
	for _, kv := range u.Changed {
		seen[kv.Key] = kv.ModRev
	}
}

// stay is a key on a lease.
type stay struct{ key, lease string }

// note is what a reader makes of an update who counts what was there.
func note(there map[stay]bool, u store.Update) {
	if u.Reset {
		clear(there)
	}
	for _, kv := range slices.Concat(u.Passed, u.Changed) {
		there[stay{kv.Key, kv.Lease}] = true
	}
}

// TestUpdatesInOne: whoever reads two updates as one knows in the end what he would know of both.
func TestUpdatesInOne(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		one, other := map[string]int64{}, map[string]int64{}
		start := store.Update{Reset: true, Token: "a", Rev: 1, Changed: []store.KV{{Key: "k0", ModRev: 1}, {Key: "k1", ModRev: 1}}}
		apply(one, start)
		apply(other, start)
		stays := map[stay]bool{}
		sum, many := store.Update{Rev: 1, Token: "a"}, 1+random.IntN(6)
		for rev := int64(2); rev < int64(2+many); rev++ {
			u := store.Update{Rev: rev, Token: "a", Reset: random.IntN(16) == 0}
			for k := range 4 {
				switch key := fmt.Sprint("k", k); random.IntN(3) {
				case 0:
					u.Changed = append(u.Changed, store.KV{Key: key, ModRev: rev, Lease: fmt.Sprint(random.IntN(3))})
				case 1:
					if !u.Reset {
						u.Deleted = append(u.Deleted, store.Deletion{Key: key, Rev: rev})
					}
				}
			}
			apply(one, u)
			note(stays, u)
			both, ok := sum.With(u)
			if !ok {
				t.Fatalf("seed %d: %+v with %+v", seed, sum, u)
			}
			sum = both
		}
		apply(other, sum)
		if !maps.Equal(one, other) || sum.Rev != int64(1+many) {
			t.Fatalf("seed %d: %v, want %v; in one: %+v", seed, other, one, sum)
		}
		inOne := map[stay]bool{}
		if note(inOne, sum); !maps.Equal(inOne, stays) {
			t.Fatalf("seed %d: there were %v, want %v", seed, inOne, stays)
		}
		keys := map[string]bool{}
		for _, kv := range sum.Changed {
			if keys[kv.Key] {
				t.Fatalf("seed %d: %s twice in %+v", seed, kv.Key, sum)
			}
			keys[kv.Key] = true
		}
		for _, d := range sum.Deleted {
			if keys[d.Key] {
				t.Fatalf("seed %d: %s twice in %+v", seed, d.Key, sum)
			}
		}
	}
	if _, ok := start("a").With(start("b")); ok {
		t.Error("of two stores")
	}
	if u, ok := start("a").With(store.Update{Reset: true, Token: "b"}); !ok || u.Token != "b" {
		t.Errorf("a new beginning in another store: %+v", u)
	}
}

func start(token string) store.Update { return store.Update{Rev: 1, Token: token} }
