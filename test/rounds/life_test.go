package rounds_test

import (
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestSpecDiffers is a node that was given other flags than the rest of its job: it has to go, and the job goes on.
func TestSpecDiffers(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2")
	nodes := []*node{p.start("n0", "--max-restarts", "2")}
	nodes[0].Await("the job waits")
	mismatch := end{78, exitcodes.Fatal, "SpecMismatch"}
	for _, e := range p.all([]*node{p.start("n1", "--max-restarts", "5")}, mismatch) {
		if !strings.Contains(e.Message.Message, "restarts.max: 2, here 5") {
			t.Errorf("it does not say what differs: %s", e.Raw)
		}
	}
	nodes = append(nodes, p.start("n1", "--max-restarts", "2"))
	workers := p.round(0, 2)
	p.all([]*node{p.start("n2", "--max-restarts", "2", "--join-timeout", "1h")}, mismatch)
	for _, w := range workers {
		if w.Gone() {
			t.Errorf("the worker of %s was stopped", w.Node)
		}
	}
	finish(workers)
	p.all(nodes, succeeded)
}

// TestRunComesAgain starts a job again under its name: what happens depends on the run's id and on how it ended.
func TestRunComesAgain(t *testing.T) {
	t.Parallel()
	t.Run("the same after success", func(t *testing.T) {
		t.Parallel()
		p := sharedParty(t, "2", "--run-uid", "a")
		nodes := p.startAll(2)
		finish(p.round(0, 2))
		p.all(nodes, succeeded)
		p.all(p.startAll(2), succeeded)
		if p.started() != 2 {
			t.Errorf("%d workers were started, want those of the first time", p.started())
		}
	})
	t.Run("the same after a fatal end", func(t *testing.T) {
		t.Parallel()
		p := sharedParty(t, "2", "--run-uid", "a")
		nodes := p.startAll(2)
		p.round(0, 2)[1].Do("exit 7")
		want := end{7, exitcodes.Fatal, "Error"}
		p.all(nodes, want)
		p.all(p.startAll(2), want)
	})
	t.Run("another after success", func(t *testing.T) {
		t.Parallel()
		p := sharedParty(t, "2")
		nodes := p.startAll(2, "--run-uid", "a")
		finish(p.round(0, 2))
		p.all(nodes, succeeded)
		nodes = p.startAll(2, "--run-uid", "b", "--max-restarts", "7") // and its spec is its own
		finish(p.round(1, 2))
		for _, e := range p.all(nodes, succeeded) {
			if e.Restarts.Max != 7 {
				t.Errorf("%s ends with restarts %+v", e.Node, *e.Restarts)
			}
		}
	})
	t.Run("another while the old one runs", func(t *testing.T) {
		t.Parallel()
		p := sharedParty(t, "2", quickFence...)
		nodes := p.startAll(2, "--run-uid", "a")
		workers := p.round(0, 2)
		late := []*node{p.start("m0", "--run-uid", "b"), p.start("m1", "--run-uid", "b")}
		for _, n := range late {
			n.Await("run a of this job is Running")
		}
		finish(workers)
		p.all(nodes, succeeded)
		workers = p.round(1, 2)
		finish(workers)
		p.all(late, succeeded)
	})
	t.Run("no id after success", func(t *testing.T) {
		t.Parallel()
		p := sharedParty(t, "2")
		nodes := p.startAll(2)
		finish(p.round(0, 2))
		p.all(nodes, succeeded)
		nodes = p.startAll(2)
		finish(p.round(1, 2))
		p.all(nodes, succeeded)
	})
	t.Run("the same after its budget", func(t *testing.T) {
		t.Parallel()
		p := sharedParty(t, "2", "--run-uid", "a", "--max-restarts", "1", "--restart-backoff", "1ms:2ms")
		nodes := p.startAll(2)
		p.round(0, 2)[0].Do("kill 9")
		p.round(1, 2)[0].Do("kill 9")
		spent := end{137, exitcodes.Retry, "RestartBudgetExhausted"}
		p.all(nodes, spent)
		nodes = p.startAll(2)
		p.round(2, 2)[0].Do("kill 9")
		p.all(nodes, spent) // the budget is as it was
		nodes = p.startAll(2)
		finish(p.round(3, 2))
		p.all(nodes, succeeded)
	})
}

// TestNames starts nodes that nobody has given a name, on one host.
func TestNames(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2", quickFence...)
	nodes := []*node{p.start("")}
	nodes[0].Await("the job waits") // so it is the older one, and has the lower rank
	nodes = append(nodes, p.start(""))
	first := p.round(0, 2)
	if first[0].Node == first[1].Node {
		t.Fatalf("both are called %s", first[0].Node)
	}
	p.kill(nodes[1])
	p.stopped(first[1])
	nodes[1] = p.start("")
	second := p.round(1, 2)
	p.is(second, names(first)...)
	finish(second)
	p.all(nodes, succeeded)
}

// TestOverridesThatMayChangeOnlyWhileSuspended is a scheduler that preempts a job and brings it back with other settings:
// what belongs to the spec may change then and only then, while anything else may differ at any time.
func TestOverridesThatMayChangeOnlyWhileSuspended(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2", quickFence...)
	nodes := p.startAll(2, "--max-restarts", "2")
	first := p.round(0, 2)
	overridden := end{78, exitcodes.Fatal, "SpecMismatch"}
	p.all([]*node{p.start("late", "--max-restarts", "5")}, overridden)
	p.takes("suspend")
	p.all(nodes, end{143, exitcodes.Suspended, "Suspended"})
	for _, w := range first {
		p.stopped(w)
	}
	nodes = p.startAll(2, "--max-restarts", "5", "--grace", "10s") // the grace is each node's own affair
	for _, n := range nodes {
		n.Await("the job is suspended")
	}
	p.takes("resume")
	second := p.round(1, 2)
	p.all([]*node{p.start("late", "--max-restarts", "2")}, overridden)
	finish(second)
	for _, e := range p.all(nodes, succeeded) {
		if e.Restarts.Max != 5 || e.Restarts.Used != 0 || *e.Round != 1 {
			t.Errorf("%s ends in round %d with restarts %+v", e.Node, *e.Round, *e.Restarts)
		}
	}
}

// TestNothingExpiresWhileSuspended looks at the record of a job that may be forgotten a second after its end: while it is
// suspended nothing in the store is on a lease.
func TestNothingExpiresWhileSuspended(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2", "--ttl-after-finished", "1s", "--join-timeout", "1s")
	lease := func() int64 {
		t.Helper()
		res, err := shared.get(t).Admin(t).Get(t.Context(), key(t, "job"))
		if err != nil || len(res.Kvs) != 1 {
			t.Fatalf("the job's record: %v, %v", res, err)
		}
		return res.Kvs[0].Lease
	}
	nodes := p.startAll(2)
	p.round(0, 2)
	p.takes("suspend")
	p.all(nodes, end{143, exitcodes.Suspended, "Suspended"})
	if lease() != 0 {
		t.Error("the record of a suspended job is on a lease")
	}
	first := p.start("n0") // and alone it waits for longer than any time limit here
	first.Await("the job is suspended; gangrun resume continues it")
	p.takes("resume")
	nodes = []*node{first, p.start("n1")}
	finish(p.round(1, 2))
	p.all(nodes, succeeded)
	if lease() == 0 {
		t.Error("the record of a job that has ended is not on a lease")
	}
	left, err := shared.get(t).Admin(t).Get(t.Context(), key(t, ""), clientv3.WithPrefix())
	if err != nil || left.Count < 3 {
		t.Fatalf("the job, its round and the store's own key are to be there for a while: %v, %v", left, err)
	}
	for _, kv := range left.Kvs {
		if kv.Lease == 0 {
			t.Errorf("%s stays for ever", kv.Key)
		}
	}
}
