package storetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous/store"
)

func election(t *testing.T, open func(string) store.Store) {
	type won struct {
		i int
		store.Leadership
	}
	const n = 4
	wins, gone := make(chan won, n), make(chan error, 1)
	stores, leases := make([]store.Store, n), make([]store.Lease, n)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	observer := open("")
	view := Follow(t, observer, "lead/")
	for i := range n {
		stores[i] = open("")
		leases[i] = Join(t, stores[i], 10*time.Second)
		all.Go(func() {
			l, err := store.Campaign(ctx, stores[i], leases[i], []byte(strconv.Itoa(i)))
			switch {
			case i == 1:
				gone <- err
			case err != nil:
				t.Errorf("candidate %d: %v", i, err)
			default:
				wins <- won{i, l}
			}
		})
		view.Until("the candidate", func() bool { return len(view.Keys) == i+1 })
	}
	first := Receive(t, "the first lead", wins)
	if first.i != 0 {
		t.Fatalf("candidate %d leads, want 0", first.i)
	}
	if res := Commit(t, observer, store.Txn{If: []store.Cond{first.Held()}}); !res.OK {
		t.Error("the leader does not hold it")
	}
	if again, err := store.Campaign(ctx, stores[0], leases[0], nil); err != nil || again != first.Leadership {
		t.Errorf("the leader campaigns again: %+v, %v, want %+v", again, err, first.Leadership)
	}
	// One in the middle goes: nobody wins by that.
	if err := leases[1].Close(ctx); err != nil {
		t.Fatal(err)
	}
	view.Until("the end of a candidate", func() bool { return len(view.Keys) == n-1 })
	if err := Receive(t, "what candidate 1 says", gone); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("candidate 1: %v, want %v", err, store.ErrLeaseLost)
	}
	// Somebody deletes the leader's key, and its lease is still good.
	Commit(t, observer, store.Txn{Then: []store.Op{store.Delete(first.Key)}})
	second := Receive(t, "the second lead", wins)
	if second.i != 2 {
		t.Fatalf("candidate %d leads, want 2", second.i)
	}
	if res := Commit(t, observer, store.Txn{If: []store.Cond{first.Held()}}); res.OK {
		t.Error("the old lead still holds it")
	}
	if err := leases[2].Close(ctx); err != nil {
		t.Fatal(err)
	}
	if third := Receive(t, "the third lead", wins); third.i != 3 {
		t.Errorf("candidate %d leads, want 3", third.i)
	}
}

func candidateGone(t *testing.T, open func(string) store.Store) {
	a, b := open(""), open("")
	la, lb := Join(t, a, 10*time.Second), Join(t, b, 10*time.Second)
	if _, err := store.Campaign(t.Context(), a, la, nil); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() {
		_, err := store.Campaign(t.Context(), b, lb, nil)
		result <- err
	}()
	view := Follow(t, a, "lead/")
	view.Until("both", func() bool { return len(view.Keys) == 2 })
	Commit(t, a, store.Txn{Then: []store.Op{store.Delete("lead/")}})
	if err := Receive(t, "an end", result); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("%v, want %v", err, store.ErrLeaseLost)
	}
}

// candidatesByHand puts keys on no lease among those of the candidates: one before any of them, and one over that of the
// leader. Nobody would ever be rid of them who waits until they go.
func candidatesByHand(t *testing.T, open func(string) store.Store) {
	a, b := open(""), open("")
	la, lb := Join(t, a, 10*time.Second), Join(t, b, 10*time.Second)
	Commit(t, a, store.Txn{Then: []store.Op{put("lead/hand", "garbage{")}})
	led := make(chan error, 1)
	campaign := func(s store.Store, l store.Lease) {
		_, err := store.Campaign(t.Context(), s, l, nil)
		led <- err
	}
	go campaign(a, la)
	if err := Receive(t, "a leader", led); err != nil {
		t.Fatal(err)
	}
	go campaign(b, lb)
	view := Follow(t, a, "lead/")
	view.Until("both, and no other", func() bool { return len(view.Keys) == 2 })
	Commit(t, a, store.Txn{Then: []store.Op{put("lead/"+la.ID(), "garbage{")}})
	if err := Receive(t, "the next lead", led); err != nil {
		t.Fatal(err)
	}
	view.Until("the one that leads", func() bool { return len(view.Keys) == 1 })
}
