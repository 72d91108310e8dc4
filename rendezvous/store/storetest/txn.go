package storetest

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/gangrun/gangrun/rendezvous/store"
)

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
		{"a directory", []store.Op{put("nodes/", "x")}},
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
		Read: []string{"job"}, Else: []string{"nodes/"}})
	if failed.OK || !slices.Equal(names(failed.Read), []string{"job", "nodes/a", "nodes/c"}) || failed.Rev != res.Rev {
		t.Errorf("a transaction that did not happen: %+v", failed)
	}
	happened := Commit(t, s, store.Txn{Then: []store.Op{put("job", "2")}, Read: []string{"nodesx"}, Else: []string{"job", "nodes/"}})
	if !happened.OK || !slices.Equal(names(happened.Read), []string{"nodesx"}) {
		t.Errorf("a transaction that happened has read %v", names(happened.Read))
	}
	if all := Commit(t, s, store.Txn{Read: []string{""}}); !slices.Equal(names(all.Read),
		[]string{"job", "nodes/a", "nodes/c", "nodesx"}) {
		t.Errorf("everything: %v", names(all.Read))
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

// Commit commits and fails the test if the store does not answer.
func Commit(t *testing.T, s store.Store, txn store.Txn) store.Result {
	t.Helper()
	res, err := s.Commit(t.Context(), txn)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func put(key, value string) store.Op { return store.Put(key, []byte(value)) }

func names(kvs []store.KV) []string {
	var keys []string
	for _, kv := range kvs {
		keys = append(keys, kv.Key)
	}
	return keys
}
