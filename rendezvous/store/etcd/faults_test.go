package etcd_test

import (
	"crypto/rand"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// patience bounds what must happen after a fault.
const patience = time.Minute

// TestExternal runs against a server of its own, or against one that is there already.
func TestExternal(t *testing.T) {
	t.Parallel()
	var endpoints []string
	if there := os.Getenv("GANGRUN_TEST_ETCD_ENDPOINTS"); there != "" {
		endpoints = strings.Split(there, ",")
	} else {
		endpoints = newCluster(t, 1, nil).Endpoints()
	}
	namespace := "test-" + rand.Text()
	storetest.Run(t, func(t *testing.T, job string) store.Store {
		return open(t, etcd.Config{Endpoints: endpoints, Namespace: namespace, Job: job, Log: testLog(t)})
	})
}

// write commits again and again until the store takes it, as a node does that keeps its own key up to date.
func write(t *testing.T, s store.Store, key, value string) store.Result {
	t.Helper()
	late := time.Now().Add(patience)
	for {
		res, err := s.Commit(t.Context(), store.Txn{Then: []store.Op{store.Put(key, []byte(value))}})
		if err == nil {
			return res
		}
		if !errors.Is(err, store.ErrUnreachable) || time.Now().After(late) {
			t.Fatal(err)
		}
	}
}

// alive fails the test if a lease is lost.
func alive(t *testing.T, l store.Lease) {
	t.Helper()
	select {
	case <-l.Lost():
		t.Error("the lease is lost")
	default:
	}
}

// TestMembers loses and pauses members of a cluster of three, one after the other. The job goes on: nothing that was
// written is lost, every watch sees every change once and in order, and the lease is kept alive.
func TestMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute: make test-long")
	}
	t.Parallel()
	c := newCluster(t, 3, nil)
	a, b := c.open("job"), c.open("job")
	l := storetest.Join(t, a, 10*time.Second) // a busy machine takes seconds to elect a leader
	storetest.Commit(t, a, store.Txn{Then: []store.Op{store.PutLeased("nodes/a", nil, l)}})
	// More watches than members: some are at the one that fails.
	var views []*storetest.View
	for range 4 {
		v := storetest.Follow(t, b, "job")
		v.Until("the start", func() bool { return v.Resets == 1 })
		views = append(views, v)
	}
	n := 0
	want := ""
	step := func(what string) {
		t.Helper()
		for range 3 {
			n++
			rev := write(t, a, "job", strconv.Itoa(n)).Rev
			// A write that was repeated because its answer was lost may be there twice.
			for _, v := range views {
				v.Until(what, func() bool { return v.Rev >= rev && v.Text() == "job="+strconv.Itoa(n) })
			}
		}
		alive(t, l)
		for i, v := range views {
			if v.Resets != 1 {
				t.Errorf("%s: watch %d had to start again", what, i)
			}
			if i == 0 {
				want = v.History()
			} else if v.History() != want {
				t.Errorf("%s: watch %d has seen %s, another one %s", what, i, v.History(), want)
			}
		}
		t.Logf("%s: ok at %d", what, n)
	}
	step("all members")
	for i, s := range c.Servers {
		s.Kill()
		step("member " + s.Name + " killed")
		c.start(s)
		step("member " + s.Name + " is back")
		paused := c.Servers[(i+1)%3]
		if err := paused.Pause(); err != nil {
			t.Fatal(err)
		}
		step("member " + paused.Name + " paused")
		if err := paused.Resume(); err != nil {
			t.Fatal(err)
		}
		step("member " + paused.Name + " resumed")
	}

	// Two of three: nothing goes, then everything again.
	c.Servers[0].Kill()
	c.Servers[1].Kill()
	_, err := a.Commit(t.Context(), store.Txn{Then: []store.Op{store.Put("other", nil)}})
	if !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("without a majority: %v", err)
	}
	c.start(c.Servers[0], c.Servers[1])
	step("a majority again")
}

func TestCompactionUnderWatch(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, nil)
	way := newProxy(t, c.Servers[0].Client)
	conf := c.config("job")
	conf.Endpoints = []string{way.endpoint()}
	far, near := open(t, conf), c.open("job")
	view := storetest.Follow(t, far, "")
	storetest.Commit(t, near, store.Txn{Then: []store.Op{store.Put("job", []byte("1")), store.Put("nodes/a", nil)}})
	view.Until("the job", func() bool { return view.Text() == "job=1 nodes/a=" })

	// What a watch can still have, it gets.
	way.cut()
	last := storetest.Commit(t, near, store.Txn{Then: []store.Op{store.Put("job", []byte("2"))}})
	way.heal()
	view.Until("what it has missed", func() bool { return view.Rev >= last.Rev })
	if view.Resets != 1 || view.Text() != "job=2 nodes/a=" {
		t.Errorf("%d resets, %s", view.Resets, view.Text())
	}

	way.cut()
	storetest.Commit(t, near, store.Txn{Then: []store.Op{store.Delete("nodes/a"), store.Put("job", []byte("3"))}})
	last = storetest.Commit(t, near, store.Txn{Then: []store.Op{store.Put("job", []byte("4"))}})
	if _, err := c.client().Compact(t.Context(), last.Rev, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	way.heal()
	view.Until("the whole state", func() bool { return view.Rev >= last.Rev })
	if view.Resets != 2 || view.Text() != "job=4" {
		t.Errorf("%d resets, %s", view.Resets, view.Text())
	}
	if view.Token != last.Token {
		t.Error("the token has changed")
	}
}

func TestLeaseLostWhilePartitioned(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, nil)
	way := newProxy(t, c.Servers[0].Client)
	conf := c.config("job")
	conf.Endpoints = []string{way.endpoint()}
	far, near := open(t, conf), c.open("job")
	l := storetest.Join(t, far, 2*time.Second)
	view := storetest.Follow(t, near, "nodes/")
	storetest.Commit(t, far, store.Txn{Then: []store.Op{store.PutLeased("nodes/a", nil, l)}})
	view.Until("the node", func() bool { return len(view.Keys) == 1 })

	way.cut()
	view.Until("its end", func() bool { return len(view.Keys) == 0 })
	if now := store.Boottime(); now < l.Renewed()+l.TTL() {
		t.Errorf("gone %v before its time", l.Renewed()+l.TTL()-now)
	}
	_, err := far.Commit(t.Context(), store.Txn{})
	if !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("while it is cut off: %v", err)
	}
	alive(t, l) // nobody has told it
	way.heal()
	storetest.Wait(t, "word of the end", l.Lost())
	_, err = far.Commit(t.Context(), store.Txn{Then: []store.Op{store.PutLeased("nodes/a", nil, l)}})
	if !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("a put on the lost lease: %v", err)
	}
	again := storetest.Join(t, far, 2*time.Second)
	storetest.Commit(t, far, store.Txn{Then: []store.Op{store.PutLeased("nodes/a", nil, again)}})
	view.Until("the node again", func() bool { return len(view.Keys) == 1 })
}

func TestRestart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		kept bool
	}{{"data kept", true}, {"empty directory", false}} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, 1, nil)
			s := c.open("job")
			l := storetest.Join(t, s, 5*time.Second)
			view := storetest.Follow(t, s, "")
			before := storetest.Commit(t, s, store.Txn{
				Then: []store.Op{store.PutLeased("nodes/a", nil, l), store.Put("job", []byte("1"))},
			})
			view.Until("the state", func() bool { return view.Rev >= before.Rev })
			c.Servers[0].Kill()
			if !tt.kept {
				c.Servers[0].Dir += "-new" // same flags otherwise: etcd gives it the same cluster id
			}
			c.start(c.Servers[0])
			other := c.open("job")
			for range 10 { // a new store has more revisions than the old one by now
				storetest.Commit(t, other, store.Txn{Then: []store.Op{store.Put("job", []byte("2"))}})
			}
			last := storetest.Commit(t, other, store.Txn{Then: []store.Op{store.Put("job", []byte("2"))}})
			if tt.kept {
				view.Until("the change", func() bool { return view.Rev >= last.Rev })
				if view.Resets != 1 || view.Token != before.Token || view.Text() != "job=2 nodes/a=" {
					t.Errorf("%d resets, %s", view.Resets, view.Text())
				}
				alive(t, l)
				return
			}
			// The condition would hold in the new store. What it is about does not.
			stale := store.Txn{Token: before.Token, If: []store.Cond{store.Absent("nodes/b")},
				Then: []store.Op{store.Put("nodes/b", nil)}}
			_, err := s.Commit(t.Context(), stale)
			for errors.Is(err, store.ErrUnreachable) {
				_, err = s.Commit(t.Context(), stale)
			}
			if !errors.Is(err, store.ErrChanged) {
				t.Errorf("a transaction about the old store: %v, want %v", err, store.ErrChanged)
			}
			view.Until("the new state", func() bool { return view.Resets == 2 })
			if view.Token == before.Token || view.Token != last.Token {
				t.Errorf("token %q, before %q, now %q", view.Token, before.Token, last.Token)
			}
			storetest.Wait(t, "word of the lost lease", l.Lost())
		})
	}
}
