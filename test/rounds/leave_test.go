package rounds_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

var preempted = end{143, exitcodes.Preempted, "Preempted"}

// TestNodeIsPreempted asks one node to stop. The others stop at once, and continue with its replacement.
func TestNodeIsPreempted(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "3")
	nodes := p.startAll(3)
	first := p.round(0, 3)
	nodes[1].Signal(syscall.SIGTERM)
	p.all(nodes[1:2], preempted)
	for _, w := range first {
		p.stopped(w)
	}
	nodes[1] = p.start("n1")
	second := p.round(1, 3)
	p.is(second, names(first)...)
	finish(second)
	p.succeed(nodes, 1, 0, 1)
}

// TestAllArePreempted asks all nodes to stop, as when a whole job is drained. The job is suspended, and the same nodes,
// started again, continue with the next round.
func TestAllArePreempted(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "3")
	nodes := p.startAll(3)
	first := p.round(0, 3)
	for _, n := range nodes {
		n.Signal(syscall.SIGTERM)
	}
	p.all(nodes, preempted)
	before := p.record()
	if before.Phase != rendezvous.Suspended {
		t.Errorf("the job is %s", before.Phase)
	}
	nodes = p.startAll(3)
	second := p.round(1, 3)
	p.is(second, names(first)...)
	finish(second)
	p.succeed(nodes, 1, 0, 1)
	if after := p.record(); after.RunUID != before.RunUID {
		t.Errorf("run %s became %s", before.RunUID, after.RunUID)
	}
}

// TestPreemptedWhileStopping asks a node to stop while it stops its workers for another's sake, which take their time.
func TestPreemptedWhileStopping(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2", "--restart-grace", "2s")
	nodes := p.startAll(2)
	workers := p.round(0, 2)
	n1 := of(workers, "n1")
	n1.Do("defy")
	n1.Do("say deaf")
	nodes[1].Await("deaf")
	of(workers, "n0").Do("kill 9")
	nodes[1].Await("stopping the workers")
	nodes[1].Signal(syscall.SIGTERM)
	p.all(nodes[1:], preempted)
	nodes[1] = p.start("n1")
	finish(p.round(1, 2))
	p.all(nodes, succeeded)
}

// TestStopWhileWaiting asks nodes to stop that have no workers.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "3")
	nodes := p.startAll(2)
	for _, n := range nodes {
		n.Await("the job waits")
		n.Signal(syscall.SIGTERM)
	}
	p.all(nodes, preempted)
}

// TestDoneNodeIsPreempted asks a node to stop whose workers have succeeded. The others train on to their end.
func TestDoneNodeIsPreempted(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2")
	nodes := p.startAll(2)
	workers := p.round(0, 2)
	of(workers, "n1").Do("exit 0")
	nodes[1].Await("done with round 0; waiting for the others")
	nodes[1].Signal(syscall.SIGTERM)
	nodes[1].Wait()
	of(workers, "n0").Do("exit 0")
	for _, e := range p.all(nodes[:1], succeeded) {
		if *e.Round != 0 {
			t.Errorf("%s ends in round %d", e.Node, *e.Round)
		}
	}
}

// record is the job's record in the shared etcd.
func (p *party) record() *rendezvous.Job {
	p.t.Helper()
	res, err := shared.get(p.t).Admin(p.t).Get(context.Background(), key(p.t, "job"))
	if err != nil || len(res.Kvs) != 1 {
		p.t.Fatalf("%d records of the job: %v", len(res.Kvs), err)
	}
	job, err := rendezvous.ParseJob("job", res.Kvs[0].Value)
	if err != nil {
		p.t.Fatal(err)
	}
	return job
}

// key is one of the keys of the test's job.
func key(t *testing.T, name string) string {
	return fmt.Sprintf("/gangrun/v1/default/%s/%s", jobName(t), name)
}
