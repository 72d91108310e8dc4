package rounds_test

import (
	"os"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// keepFiles puts the files of a cluster that is stopped aside, and returns what puts them back.
func keepFiles(t *testing.T, c *etcdserver.Cluster) (restore func()) {
	t.Helper()
	copies := t.TempDir()
	for _, s := range c.Servers {
		if err := os.CopyFS(copies+"/"+s.Name, os.DirFS(s.Dir)); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, s := range c.Servers {
			if err := os.RemoveAll(s.Dir); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(s.Dir, os.DirFS(copies+"/"+s.Name)); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(s.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTheStoreIsRestored restores an etcd of three members from a backup of an earlier round. What has happened since
// is not in it, and what runs is: nothing stops, the newest records are put back, and the job continues from there.
func TestTheStoreIsRestored(t *testing.T) {
	t.Parallel()
	c := etcdserver.StartFor(t, "127.0.0.1", 3, nil)
	// A busy machine takes seconds to start the servers again; nothing here waits for the fence.
	p := newParty(t, "--nodes", "2", "--store", storeOf(c), "--job", jobName(t), "--restart-backoff", "1ms:2ms", "--restart-grace", "1s")
	nodes := p.startAll(2)
	first := p.round(0, 2)
	c.End()
	restore := keepFiles(t, c)
	restart(t, c, c.Servers...)
	first[0].Do("kill 9")
	second := p.round(1, 2)
	c.End()
	restore()
	restart(t, c, c.Servers...)
	harness.Eventually(t, limit, "the record of round 1 is there again", func() bool {
		res, err := c.Admin(t).Get(t.Context(), key(t, "rounds/1"))
		return err == nil && len(res.Kvs) == 1
	})
	for _, w := range second {
		if w.Gone() {
			t.Errorf("the worker of %s was stopped", w.Node)
		}
	}
	second[1].Do("kill 9")
	third := p.round(2, 2)
	p.is(third, names(second)...)
	finish(third)
	for _, e := range p.all(nodes, succeeded) {
		if e.Restarts.Used != 2 {
			t.Errorf("%s ends with restarts %+v", e.Node, *e.Restarts)
		}
	}
}
