package rounds_test

import (
	"context"
	"slices"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
	"github.com/gangrun/gangrun/test/harness/network"
)

// apart is a job in which the last node is in a network of its own, and the store is not.
func apart(t *testing.T, nodes string, last string) (*party, *network.Space) {
	t.Helper()
	n := network.New(t)
	space := n.Join()
	store := storeOf(etcdserver.StartFor(t, n.Host, 1, nil))
	p := newParty(t, append([]string{"--nodes", nodes, "--store", store, "--job", jobName(t), "--last-call", "1s"}, quickFence...)...)
	p.in = func(node string) []string {
		if node == last {
			return space.Enter()
		}
		return nil
	}
	return p, space
}

// TestNodeIsCutOff takes one node's network away. It stops its workers long before the others would continue without
// it, and when the network is back everybody goes on. That is nobody's failure.
func TestNodeIsCutOff(t *testing.T) {
	for name, cut := range network.Cuts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, space := apart(t, "2", "n1")
			nodes := p.startAll(2)
			first := p.round(0, 2)
			heal := cut(space)
			p.stopped(of(first, "n1"))
			if of(first, "n0").Gone() {
				t.Error("the others have stopped before the node that is cut off")
			}
			heal()
			second := p.round(1, 2)
			p.is(second, names(first)...)
			finish(second)
			for _, e := range p.all(nodes, succeeded) {
				if e.Restarts.Used != 0 {
					t.Errorf("%s: the budget was charged: %+v", e.Node, *e.Restarts)
				}
			}
		})
	}
}

// TestOthersGoOn takes one node's network away for longer than the fence time, be it the leader or not. The others
// continue without it, and when it is back it waits for the next restart.
func TestOthersGoOn(t *testing.T) {
	harness.Costly(t)
	t.Parallel()
	for _, lead := range []string{"n0", "n1"} {
		t.Run(map[string]string{"n0": "member", "n1": "lead"}[lead], func(t *testing.T) {
			t.Parallel()
			p, space := apart(t, "1:2", "n1")
			first := []*node{p.start(lead, "--log-level=debug", "--last-call=10s")}
			first[0].Await("this node leads")
			other := map[string]string{"n0": "n1", "n1": "n0"}[lead]
			nodes := map[string]*node{lead: first[0], other: p.start(other, "--last-call=10s")}
			workers := p.round(0, 2)
			space.Cut()
			p.stopped(of(workers, "n1"))
			if of(workers, "n0").Gone() {
				t.Error("the others have stopped before the node that is cut off")
			}
			second := p.round(1, 1)
			p.is(second, "n0")
			space.Heal()
			nodes["n1"].Await("round 1 runs without this node")
			second[0].Do("kill 9")
			third := p.round(2, 2)
			finish(third)
			p.all([]*node{nodes["n0"], nodes["n1"]}, succeeded)
		})
	}
}

// TestGangrunIsPaused stops a gangrun, and so its care for its workers, for longer than the others wait for it. When it
// goes on it stops them before anything else, and says that there may have been two rounds at once. Was it the leader,
// then nothing that it still wants to decide counts.
func TestGangrunIsPaused(t *testing.T) {
	harness.Costly(t)
	t.Parallel()
	for paused, name := range []string{"lead", "member"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := sharedParty(t, "1:2", append(quickFence, "--last-call", "10s")...)
			p.paused = true
			nodes := []*node{p.start("n0", "--log-level=debug")}
			nodes[0].Await("this node leads")
			nodes = append(nodes, p.start("n1"))
			first := p.round(0, 2)
			asleep, awake := nodes[paused], nodes[1-paused]
			asleep.Signal(syscall.SIGSTOP)
			second := p.round(1, 1)
			p.is(second, awake.name)
			if of(first, asleep.name).Gone() || len(second[0].Beside) == 0 {
				t.Fatal("the worker of the paused gangrun has ended: nothing is shown")
			}
			asleep.Signal(syscall.SIGCONT)
			p.stopped(of(first, asleep.name))
			asleep.Await("another round may have run beside its own")
			asleep.Await("round 1 runs without this node")
			if second[0].Gone() {
				t.Error("the round of the others was disturbed")
			}
			second[0].Do("kill 9")
			finish(p.round(2, 2))
			p.all(nodes, succeeded)
		})
	}
}

// TestStoreMembersAreLost kills members of an etcd of three. One is not missed. Without two of them training goes on as
// long as it may, and when they are back a restart works as before.
func TestStoreMembersAreLost(t *testing.T) {
	t.Parallel()
	c := etcdserver.StartFor(t, "127.0.0.1", 3, nil)
	p := newParty(t, "--nodes", "2", "--store", storeOf(c), "--job", jobName(t), "--restart-backoff", "1ms:2ms")
	nodes := p.startAll(2)
	workers := p.round(0, 2)
	c.Servers[0].Kill()
	workers[0].Do("kill 9")
	workers = p.round(1, 2)
	lease := leaseOf(t, c, "n0")
	c.Servers[1].Kill()
	outlast(t, lease+1) // which is much shorter than half of the fence time
	for _, w := range workers {
		if w.Gone() {
			t.Errorf("%s's worker has not outlived the store's absence", w.Node)
		}
	}
	if err := c.Restart(c.Servers[:2]...); err != nil {
		t.Fatal(err)
	}
	workers[1].Do("kill 9")
	finish(p.round(2, 2))
	p.succeed(nodes, 2, 2, 0)
}

// leaseOf is for how many seconds the node's lease holds without a renewal.
func leaseOf(t *testing.T, c *etcdserver.Cluster, node string) int64 {
	t.Helper()
	admin := c.Admin(t)
	res, err := admin.Get(t.Context(), key(t, "nodes/"+node))
	if err != nil || len(res.Kvs) != 1 {
		t.Fatal(node, " has no record: ", err)
	}
	lease, err := admin.TimeToLive(t.Context(), clientv3.LeaseID(res.Kvs[0].Lease))
	if err != nil {
		t.Fatal(err)
	}
	return lease.GrantedTTL
}

// outlast waits until a lease is over that holds for so many seconds and that nobody renews from now on: one in another
// etcd, where somebody is there to end it.
func outlast(t *testing.T, seconds int64) {
	t.Helper()
	admin, name := shared.get(t).Admin(t), jobName(t)+"-yardstick"
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	lease, err := admin.Grant(ctx, seconds)
	if err != nil {
		t.Fatal(err)
	}
	put, err := admin.Put(ctx, name, "", clientv3.WithLease(lease.ID))
	if err != nil {
		t.Fatal(err)
	}
	for res := range admin.Watch(ctx, name, clientv3.WithRev(put.Header.Revision+1)) {
		for _, e := range res.Events {
			if e.Type == clientv3.EventTypeDelete {
				return
			}
		}
	}
	t.Fatalf("a lease of %d s is not over within %v", seconds, patience)
}

// TestStoreIsLost kills the store for good. The workers stop in time, and after the time that was given for its return
// the nodes leave.
func TestStoreIsLost(t *testing.T) {
	t.Parallel()
	lost := end{213, exitcodes.Retry, "StoreLost"}
	t.Run("in a round", func(t *testing.T) {
		t.Parallel()
		c := etcdserver.StartFor(t, "127.0.0.1", 1, nil)
		p := newParty(t, slices.Concat([]string{"--nodes", "2", "--store", storeOf(c), "--job", jobName(t), "--store-timeout", "3s"}, quickFence)...)
		nodes := p.startAll(2)
		workers := p.round(0, 2)
		c.End()
		for _, w := range workers {
			p.stopped(w)
		}
		p.all(nodes, lost)
	})
	t.Run("before the first round", func(t *testing.T) {
		t.Parallel()
		c := etcdserver.StartFor(t, "127.0.0.1", 1, nil)
		p := newParty(t, "--nodes", "2", "--store", storeOf(c), "--job", jobName(t), "--store-timeout", "3s")
		nodes := p.startAll(1)
		nodes[0].Await("the job waits")
		c.End()
		nodes[0].Await("gives_up_in=") // a person wants to know for how long
		p.all(nodes, lost)
	})
	t.Run("never there", func(t *testing.T) {
		t.Parallel()
		p := newParty(t, "--nodes", "2", "--store", "http://127.0.0.1:1", "--job", jobName(t), "--store-timeout", "3s")
		p.all(p.startAll(1), lost)
	})
}
