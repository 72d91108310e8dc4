// Package storetest holds what every store must do, as tests that run against each of them.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
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

func conditions(t *testing.T, open func(string) store.Store) {
	a, b := open(""), open("")
	first := Commit(t, a, store.Txn{If: []store.Cond{store.Absent("job")}, Then: []store.Op{put("job", "1")}})
	if !first.OK || first.Token == "" {
		t.Fatalf("the first put: %+v", first)
	}
	if res := Commit(t, b, store.Txn{If: []store.Cond{store.Absent("job")}, Then: []store.Op{put("job", "x")}}); res.OK {
		t.Fatal("a key is absent that is there")
	}
	second := Commit(t, b, store.Txn{If: []store.Cond{store.Unchanged("job", first.Rev)},
		Then: []store.Op{put("job", "2"), put("rounds/0", "r")}})
	if !second.OK || second.Rev <= first.Rev || second.Token != first.Token {
		t.Fatalf("the second put: %+v after %+v", second, first)
	}
	for _, tt := range []struct {
		name string
		cond store.Cond
		want bool
	}{
		{"old mod revision", store.Unchanged("job", first.Rev), false},
		{"mod revision", store.Unchanged("job", second.Rev), true},
		{"create revision", store.Since("job", first.Rev), true},
		{"other create revision", store.Since("job", second.Rev), false},
		{"create revision of a missing key", store.Since("nodes/a", first.Rev), false},
		{"missing key", store.Absent("nodes/a"), true},
		{"part of a key", store.Absent("jo"), true},
	} {
		if res := Commit(t, a, store.Txn{If: []store.Cond{tt.cond}}); res.OK != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, res.OK, tt.want)
		}
		both := []store.Cond{store.Unchanged("job", second.Rev), tt.cond}
		if res := Commit(t, a, store.Txn{If: both}); res.OK != tt.want {
			t.Errorf("%s, and another: %v, want %v", tt.name, res.OK, tt.want)
		}
	}
	if res := Commit(t, a, store.Txn{Token: second.Token}); !res.OK {
		t.Error("the store denies its own token")
	}
	_, err := a.Commit(t.Context(), store.Txn{Token: "other", Then: []store.Op{put("job", "x")}})
	if !errors.Is(err, store.ErrChanged) {
		t.Errorf("another store's token: %v, want %v", err, store.ErrChanged)
	}
	Commit(t, a, store.Txn{Then: []store.Op{store.Delete("job")}})
	again := Commit(t, a, store.Txn{Then: []store.Op{put("job", "3")}})
	if res := Commit(t, a, store.Txn{If: []store.Cond{store.Since("job", again.Rev)}}); !res.OK {
		t.Error("a key that was deleted and put again has its old create revision")
	}
}

func refusals(t *testing.T, open func(string) store.Store) {
	s := open("")
	for _, tt := range []struct {
		name string
		ops  []store.Op
	}{
		{"too large", []store.Op{store.Put("a", make([]byte, store.MaxValue+1))}},
		{"no key", []store.Op{put("", "x")}},
		{"a folder", []store.Op{put("nodes/", "x")}},
		{"twice", []store.Op{put("a", "1"), put("a", "2")}},
		{"too many", slices.Repeat([]store.Op{store.Delete("nodes/a")}, store.MaxOps)},
		{"put and delete", []store.Op{put("nodes/a", "1"), store.Delete("nodes/")}},
	} {
		_, err := s.Commit(t.Context(), store.Txn{Then: append([]store.Op{put("witness", "x")}, tt.ops...)})
		if !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s: %v, want %v", tt.name, err, store.ErrRefused)
		}
	}
	if res := Commit(t, s, store.Txn{Read: []string{""}}); len(res.Read) > 0 {
		t.Errorf("refused transactions have written %v", names(res.Read))
	}
	Commit(t, s, store.Txn{Then: []store.Op{store.Put("a", make([]byte, store.MaxValue))}})
	var ops []store.Op
	for i := range store.MaxOps - 1 {
		ops = append(ops, put("nodes/"+strconv.Itoa(i), "x"))
	}
	if res := Commit(t, s, store.Txn{Then: ops, Read: []string{"nodes/"}}); len(res.Read) != len(ops) {
		t.Errorf("%d keys, want %d", len(res.Read), len(ops))
	}
}

func reads(t *testing.T, open func(string) store.Store) {
	s := open("")
	if res := Commit(t, s, store.Txn{Read: []string{"", "job", "nodes/"}}); !res.OK || len(res.Read) > 0 {
		t.Fatalf("an empty store: %+v", res)
	}
	Commit(t, s, store.Txn{Then: []store.Op{put("job", "1"), put("nodes/b", "b"), put("nodes/a", "a"), put("nodesx", "")}})
	res := Commit(t, s, store.Txn{
		Then: []store.Op{put("job", "2"), store.Delete("nodes/b"), put("nodes/c", "c")},
		Read: []string{"nodes/", "job", "missing"},
	})
	if got := names(res.Read); !slices.Equal(got, []string{"nodes/a", "nodes/c", "job"}) {
		t.Fatalf("read %v", got)
	}
	if job := res.Read[2]; string(job.Value) != "2" || job.ModRev != res.Rev || job.CreateRev >= res.Rev || job.Leased {
		t.Errorf("the job as it is after the transaction: %+v, rev %d", job, res.Rev)
	}
	failed := Commit(t, s, store.Txn{If: []store.Cond{store.Absent("job")}, Then: []store.Op{store.Delete("")},
		Read: []string{"job"}})
	if failed.OK || len(failed.Read) != 1 || failed.Rev != res.Rev {
		t.Errorf("a transaction that did not happen: %+v", failed)
	}
	if all := Commit(t, s, store.Txn{Read: []string{""}}); !slices.Equal(names(all.Read),
		[]string{"job", "nodes/a", "nodes/c", "nodesx"}) {
		t.Errorf("everything: %v", names(all.Read))
	}
}

func watch(t *testing.T, open func(string) store.Store) {
	a, b := open(""), open("")
	Commit(t, a, store.Txn{Then: []store.Op{put("nodes/a", "1"), put("job", "x")}})
	view := Follow(t, b, "nodes/")
	view.Until("the state", func() bool { return view.Text() == "nodes/a=1" })
	Commit(t, a, store.Txn{Then: []store.Op{put("nodes/a", "2"), put("nodes/b", "1"), put("nodesx", "x")}})
	Commit(t, a, store.Txn{Then: []store.Op{store.Delete("nodes/a")}})
	Commit(t, a, store.Txn{Then: []store.Op{put("nodes/a", "3")}})
	last := Commit(t, a, store.Txn{Then: []store.Op{put("nodes/c", "1")}})
	view.Until("the changes", func() bool { return view.Rev >= last.Rev })
	if want := "nodes/a=3 nodes/b=1 nodes/c=1"; view.Text() != want {
		t.Errorf("%s, want %s", view.Text(), want)
	}
	if want := "+nodes/a=1 +nodes/a=2 +nodes/b=1 -nodes/a +nodes/a=3 +nodes/c=1"; view.History() != want {
		t.Errorf("history %s, want %s", view.History(), want)
	}
	if view.Resets != 1 {
		t.Errorf("%d resets, want that at the start alone", view.Resets)
	}
	if view.Token != last.Token {
		t.Errorf("token %q, want %q", view.Token, last.Token)
	}
}

func watchOneKey(t *testing.T, open func(string) store.Store) {
	s := open("")
	view := Follow(t, s, "job")
	view.Until("the empty state", func() bool { return view.Resets == 1 })
	Commit(t, s, store.Txn{Then: []store.Op{put("job/x", "x"), put("jobs", "x"), put("jo", "x")}})
	last := Commit(t, s, store.Txn{Then: []store.Op{put("job", "1")}})
	view.Until("the change", func() bool { return view.Rev >= last.Rev })
	if view.Text() != "job=1" || view.Resets != 1 {
		t.Errorf("%s after %d resets", view.Text(), view.Resets)
	}
}

func syncs(t *testing.T, open func(string) store.Store) {
	a, b := open(""), open("")
	view := Follow(t, b, "nodes/")
	view.Until("the empty state", func() bool { return view.Resets == 1 })
	for i := range 5 {
		Commit(t, a, store.Txn{Then: []store.Op{put("nodes/a", strconv.Itoa(i))}})
		rev := Commit(t, a, store.Txn{Then: []store.Op{put("job", strconv.Itoa(i))}}).Rev
		view.Watcher.Sync(rev)
		view.Until("the revision of another key", func() bool { return view.Rev >= rev })
		if want := "nodes/a=" + strconv.Itoa(i); view.Text() != want {
			t.Fatalf("up to %d: %s, want %s", rev, view.Text(), want)
		}
	}
}

func manyKeys(t *testing.T, open func(string) store.Store) {
	s := open("")
	const n = 1300
	for i := 0; i < n; i += 100 {
		var ops []store.Op
		for k := range 100 {
			ops = append(ops, put(fmt.Sprintf("nodes/%04d", i+k), "x"))
		}
		Commit(t, s, store.Txn{Then: ops})
	}
	view := Follow(t, s, "")
	view.Until("the state", func() bool { return view.Resets == 1 })
	if len(view.Keys) != n {
		t.Fatalf("%d keys, want %d", len(view.Keys), n)
	}
	last := Commit(t, s, store.Txn{Then: []store.Op{store.Delete("nodes/")}})
	view.Until("the end of all", func() bool { return view.Rev >= last.Rev })
	if len(view.Keys) != 0 {
		t.Errorf("%d keys are left", len(view.Keys))
	}
}

func compareAndSwap(t *testing.T, open func(string) store.Store) {
	const writers, each = 4, 25
	var all sync.WaitGroup
	for range writers {
		s := open("")
		all.Go(func() {
			for done := 0; done < each; {
				res, err := s.Commit(t.Context(), store.Txn{Read: []string{"n"}})
				if err != nil {
					t.Error(err)
					return
				}
				n, cond := 0, store.Absent("n")
				if len(res.Read) > 0 {
					n, _ = strconv.Atoi(string(res.Read[0].Value))
					cond = store.Unchanged("n", res.Read[0].ModRev)
				}
				res, err = s.Commit(t.Context(), store.Txn{If: []store.Cond{cond}, Then: []store.Op{put("n", strconv.Itoa(n+1))}})
				if err != nil {
					t.Error(err)
					return
				}
				if res.OK {
					done++
				}
			}
		})
	}
	all.Wait()
	res := Commit(t, open(""), store.Txn{Read: []string{"n"}})
	if len(res.Read) != 1 || string(res.Read[0].Value) != strconv.Itoa(writers*each) {
		t.Errorf("%v, want %d", res.Read, writers*each)
	}
}

func jobsApart(t *testing.T, open func(string) store.Store) {
	a, ab, below := open("a"), open("ab"), open("a/b")
	Commit(t, ab, store.Txn{Then: []store.Op{put("job", "ab")}})
	Commit(t, below, store.Txn{Then: []store.Op{put("job", "a/b")}})
	Commit(t, a, store.Txn{Then: []store.Op{put("job", "a")}})
	Commit(t, a, store.Txn{Then: []store.Op{store.Delete("")}})
	for _, s := range []store.Store{ab, below} {
		if res := Commit(t, s, store.Txn{Read: []string{""}}); len(res.Read) != 1 {
			t.Errorf("%v is left in another job", res.Read)
		}
	}
}

func before(t *testing.T, open func(string) store.Store) {
	s := open("")
	first := Commit(t, s, store.Txn{Then: []store.Op{put("lead/z", "1")}}).Rev
	Commit(t, s, store.Txn{Then: []store.Op{put("job", "1")}})
	second := Commit(t, s, store.Txn{Then: []store.Op{put("lead/a", "2")}}).Rev
	Commit(t, s, store.Txn{Then: []store.Op{put("lead/z", "3")}})
	for _, tt := range []struct {
		rev  int64
		want string
	}{{second + 1, "lead/a"}, {second, "lead/z"}, {first, ""}} {
		kv, found, err := s.Before(t.Context(), "lead/", tt.rev)
		if err != nil || found != (tt.want != "") || kv.Key != tt.want {
			t.Errorf("before %d: %+v, %v, %v, want %q", tt.rev, kv, found, err, tt.want)
		}
	}
}

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
		t.Error("the lead does not hold it")
	}
	if again, err := store.Campaign(ctx, stores[0], leases[0], nil); err != nil || again != first.Leadership {
		t.Errorf("the lead campaigns again: %+v, %v, want %+v", again, err, first.Leadership)
	}
	// One in the middle goes: nobody wins by that.
	if err := leases[1].Close(ctx); err != nil {
		t.Fatal(err)
	}
	view.Until("the end of a candidate", func() bool { return len(view.Keys) == n-1 })
	if err := Receive(t, "what candidate 1 says", gone); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("candidate 1: %v, want %v", err, store.ErrLeaseLost)
	}
	if err := store.Resign(ctx, stores[0], first.Leadership); err != nil {
		t.Fatal(err)
	}
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

func end(t *testing.T, open func(string) store.Store) {
	s := open("")
	ctx, stop := context.WithCancel(t.Context())
	updates := s.Watch(ctx, "").Updates()
	stop()
	drained(t, "the watch whose context ended", updates)
	updates = s.Watch(t.Context(), "").Updates()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	drained(t, "the watch of a closed store", updates)
	drained(t, "a watch after the end", s.Watch(t.Context(), "").Updates())
	if _, err := s.Commit(t.Context(), store.Txn{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("commit after the end: %v", err)
	}
	if _, err := s.Join(t.Context(), time.Second); !errors.Is(err, store.ErrClosed) {
		t.Errorf("join after the end: %v", err)
	}
}
