package storetest

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/gangrun/gangrun/rendezvous/store"
)

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
