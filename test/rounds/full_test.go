package rounds_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// smallStore is an etcd of one member that is soon full.
func smallStore(t *testing.T) (*etcdserver.Cluster, *clientv3.Client) {
	t.Helper()
	c := etcdserver.StartFor(t, "127.0.0.1", 1, func(s *etcdserver.Server) { s.Quota = 1 << 20 })
	return c, c.Admin(t)
}

const filling = "/somebody-elses"

// fill writes into an etcd until it takes nothing more, as a neighbour does who never tidies up.
func fill(t *testing.T, client *clientv3.Client) {
	t.Helper()
	for {
		_, err := client.Put(context.Background(), filling, strings.Repeat("x", 100_000))
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// makeRoom does what etcd's own pages say to do then: compact, defragment, disarm.
func makeRoom(t *testing.T, client *clientv3.Client) {
	t.Helper()
	ctx := context.Background()
	gone, err := client.Delete(ctx, filling)
	if err == nil {
		_, err = client.Compact(ctx, gone.Header.Revision, clientv3.WithCompactPhysical())
	}
	if err == nil {
		_, err = client.Defragment(ctx, client.Endpoints()[0])
	}
	if err == nil {
		_, err = client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheStoreIsFull fills the etcd of a job: before its first round, in one, and for longer than anybody waits.
// Training goes on meanwhile, and the job when there is room again.
func TestTheStoreIsFull(t *testing.T) {
	const says = "the store is full and takes nothing more: compact and defragment it, then etcdctl alarm disarm"
	t.Run("before the first round", func(t *testing.T) {
		t.Parallel()
		c, client := smallStore(t)
		fill(t, client)
		p := newParty(t, "--nodes", "2", "--store", storeOf(c), "--job", jobName(t))
		nodes := p.startAll(2)
		for _, n := range nodes {
			n.Await(says)
		}
		makeRoom(t, client)
		finish(p.round(0, 2))
		p.all(nodes, succeeded)
	})
	t.Run("in a round", func(t *testing.T) {
		t.Parallel()
		c, client := smallStore(t)
		p := newParty(t, "--nodes", "2", "--store", storeOf(c), "--job", jobName(t))
		nodes := p.startAll(2)
		first := p.round(0, 2)
		fill(t, client)
		first[0].Do("kill 9")
		for _, n := range nodes {
			if n.name == first[0].Node {
				n.Await(says) // it cannot tell the others
			}
		}
		if first[1].Gone() {
			t.Error("the other node's worker was stopped, and nothing can be started")
		}
		res := harness.Run(t, limit, nil, harness.Binary(t), "restart", jobName(t), "--store", storeOf(c), "--timeout", "5s")
		if res.Code != 69 || !strings.Contains(res.Stderr, says) {
			t.Errorf("gangrun restart: exit code %d, %q", res.Code, res.Stderr)
		}
		makeRoom(t, client)
		second := p.round(1, 2)
		p.is(second, names(first)...)
		finish(second)
		for _, e := range p.all(nodes, succeeded) {
			if e.Restarts.Used != 1 {
				t.Errorf("%s ends with restarts %+v", e.Node, *e.Restarts)
			}
		}
	})
	t.Run("for good", func(t *testing.T) {
		t.Parallel()
		c, client := smallStore(t)
		p := newParty(t, "--nodes", "2", "--store", storeOf(c), "--job", jobName(t), "--store-timeout", "2s")
		nodes := p.startAll(2)
		first := p.round(0, 2)
		fill(t, client)
		for _, w := range first {
			w.Do("kill 9")
		}
		lost := end{213, exitcodes.Retry, "StoreLost"}
		for i, n := range nodes {
			e := n.End()
			if e.Code != lost.code || e.Reason != lost.reason || !strings.Contains(e.Message.Message, says) {
				t.Errorf("node %d: exit code %d: %s\n%s", i, e.Code, e.Raw, e.Stderr)
			}
		}
		for _, e := range p.all([]*node{p.start("n2")}, lost) {
			if want := "the store took nothing for 2s: "; !strings.Contains(e.Message.Message, want) {
				t.Errorf("want it to say %q: %s", want, e.Raw)
			}
		}
	})
}
