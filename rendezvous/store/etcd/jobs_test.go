package etcd_test

import (
	"fmt"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
)

// TestJobs lists each job of a namespace once, whatever it is called and however many keys it has, and nothing else. It
// writes nothing.
func TestJobs(t *testing.T) {
	c := newCluster(t, 1, nil)
	admin := c.Admin(t)
	put := func(key, value string) {
		if _, err := admin.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"a", "a-", "a--b", "a.b", "a0", "a/b", "a%", "\x1b[2J<b>", "job", "token", "zz"}
	for _, name := range names {
		prefix, err := store.Prefix("team", name)
		if err != nil {
			t.Fatal(err)
		}
		if name != "zz" { // which nobody has written a record for yet
			put(prefix+"job", "record of "+name)
		}
		put(prefix+"token", "t")
		for i := range 20 {
			put(prefix+fmt.Sprint("nodes/n", i), "n")
		}
	}
	for _, other := range []string{"default/x/job", "team2/x/job", "team/nothing", "team/%zz/job", "tea/x/job"} {
		put("/gangrun/v1/"+other, "other")
	}
	before, err := admin.Get(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	jobs, more, err := etcd.Jobs(t.Context(), etcd.Config{Endpoints: c.Endpoints(), Namespace: "team"})
	if err != nil || more {
		t.Fatal(err, more)
	}
	var got []string
	for _, j := range jobs {
		got = append(got, j.Name)
		if want := "record of " + j.Name; j.Name == "zz" && j.Value != nil || j.Name != "zz" &&
			string(j.Value) != want {
			t.Errorf("%q: %q", j.Name, j.Value)
		}
	}
	slices.Sort(got)
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("%q, want %q", got, names)
	}
	after, err := admin.Get(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || after.Count != before.Count || after.Header.Revision != before.Header.Revision {
		t.Errorf("something was written: %d keys, then %d; %v", before.Count, after.Count, err)
	}
	if jobs, _, err := etcd.Jobs(t.Context(), etcd.Config{Endpoints: c.Endpoints(), Namespace: "none"}); err != nil ||
		len(jobs) > 0 {
		t.Errorf("%v %v", jobs, err)
	}
}
