package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous/store"
)

func lease(t *testing.T, open func(string) store.Store) {
	a, b := open(""), open("")
	view := Follow(t, b, "nodes/")
	began := store.Boottime()
	l := Join(t, a, 2*time.Second)
	if l.TTL() < 2*time.Second || l.ID() == "" {
		t.Errorf("ttl %v, id %q", l.TTL(), l.ID())
	}
	if sent := l.Renewed(); sent < began || sent > store.Boottime() {
		t.Errorf("renewed at %v, which is not between %v and now", sent, began)
	}
	Commit(t, a, store.Txn{Then: []store.Op{
		store.PutLeased("nodes/a", []byte("1"), l), store.PutLeased("nodes/b", nil, l),
	}})
	last := Commit(t, a, store.Txn{Then: []store.Op{put("nodes/b", "stays")}, Read: []string{"nodes/"}})
	if !last.Read[0].Leased || last.Read[1].Leased {
		t.Errorf("leased: %+v", last.Read)
	}
	view.Until("both keys", func() bool { return view.Rev >= last.Rev })
	if !view.Keys["nodes/a"].Leased || view.Keys["nodes/b"].Leased {
		t.Errorf("leased: %+v", view.Keys)
	}
	// It outlives its time while it is kept alive.
	first := l.Renewed()
	deadline := time.Now().Add(patience)
	for l.Renewed() < first+l.TTL()*3/2 {
		if time.Now().After(deadline) {
			t.Fatalf("renewed at %v, and not since %v", first, patience)
		}
		select {
		case <-l.Lost():
			t.Fatal("a lease that is kept alive is lost")
		case <-time.After(20 * time.Millisecond):
		}
	}
	if view.Text() != "nodes/a=1 nodes/b=stays" {
		t.Errorf("while it is kept alive: %s", view.Text())
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	view.Until("the end of the lease", func() bool { return view.Text() == "nodes/b=stays" })
	Wait(t, "word of the end", l.Lost())
}

func lostLease(t *testing.T, open func(string) store.Store) {
	s := open("")
	l := Join(t, s, 5*time.Second)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := l.Renewed()
	time.Sleep(10 * time.Millisecond)
	if again := l.Renewed(); again != sent {
		t.Errorf("renewed at %v, and at %v when it was over", sent, again)
	}
	_, err := s.Commit(t.Context(), store.Txn{Then: []store.Op{put("job", "x"), store.PutLeased("nodes/a", nil, l)}})
	if !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("a put on a revoked lease: %v", err)
	}
	if res := Commit(t, s, store.Txn{Read: []string{""}}); len(res.Read) > 0 {
		t.Errorf("it has written %v", names(res.Read))
	}
}

// silence: a node that is simply gone.
func silence(t *testing.T, open func(string) store.Store) {
	gone, s := open(""), open("")
	view := Follow(t, s, "nodes/")
	l := Join(t, gone, 2*time.Second)
	Commit(t, gone, store.Txn{Then: []store.Op{store.PutLeased("nodes/a", []byte("1"), l)}})
	view.Until("the node", func() bool { return view.Text() == "nodes/a=1" })
	gone.Close()
	closed := store.Boottime()
	if l.Renewed() > closed {
		t.Error("renewed after the end")
	}
	sent := l.Renewed()
	view.Until("the end of the node", func() bool { return view.Text() == "" })
	if now := store.Boottime(); now < sent+l.TTL() {
		t.Errorf("the key is gone %v before the lease that was renewed at %v can be", sent+l.TTL()-now, sent)
	}
}

// Join makes a lease.
func Join(t *testing.T, s store.Store, ttl time.Duration) store.Lease {
	t.Helper()
	l, err := s.Join(t.Context(), ttl)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
