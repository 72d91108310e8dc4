package rounds_test

import (
	"syscall"
	"testing"
)

// The roles of a TFJob, as TF_CONFIG lets expect them.
var tensorflowRoles = []string{"--roles", "ps=gang,optional", "--roles", "worker=self,optional", "--roles", "evaluator=self,optional"}

// startRoles starts a node for each role; it is called as its role.
func (p *party) startRoles(roles ...string) (nodes []*node) {
	p.t.Helper()
	for _, role := range roles {
		nodes = append(nodes, p.start(role, "--role", role))
	}
	return nodes
}

// another waits for one more worker of the node than there have been, and returns it.
func (p *party) another(node string, before int) (latest *worker) {
	p.t.Helper()
	p.until("another worker of "+node, func(all []*worker) bool {
		n := 0
		for _, w := range all {
			if w.Node == node {
				n++
				latest = w
			}
		}
		return n > before
	})
	return latest
}

// TestEvaluatorFails is trouble of a role that restarts alone: the training does not notice, whatever becomes of it.
func TestEvaluatorFails(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "3", append([]string{"--restart-backoff", "1ms:2ms", "--max-restarts", "2"}, tensorflowRoles...)...)
	nodes := p.startRoles("chief", "ps", "evaluator")
	training := p.round(0, 3)
	of(training, "evaluator").Do("kill 9")
	second := p.another("evaluator", 1)
	if second.Round != "0" || second.Rank != of(training, "evaluator").Rank {
		t.Errorf("it was started again in round %s with rank %s", second.Round, second.Rank)
	}
	second.Do("kill 9")
	p.another("evaluator", 2).Do("exit 7")
	nodes[2].Await("the job continues without")
	for _, node := range []string{"chief", "ps"} {
		if of(training, node).Gone() {
			t.Errorf("the worker of %s was stopped", node)
		}
	}
	of(training, "chief").Do("exit 0")
	for _, e := range p.all(nodes, succeeded) {
		if *e.Round != 0 || e.Restarts.Used != 0 || e.Role != e.Node {
			t.Errorf("%s ends in round %d as %s, restarts %+v", e.Node, *e.Round, e.Role, *e.Restarts)
		}
	}
	if n := p.started(); n != 5 {
		t.Errorf("%d workers were started, want 5", n)
	}
}

// TestEvaluatorIsReplaced preempts a node whose role restarts alone: its replacement comes into the round that runs.
func TestEvaluatorIsReplaced(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "3", append(quickFence, tensorflowRoles...)...)
	nodes := p.startRoles("chief", "worker", "evaluator")
	training := p.round(0, 3)
	nodes[2].Signal(syscall.SIGTERM)
	p.all(nodes[2:], preempted)
	nodes[2] = p.start("evaluator", "--role", "evaluator")
	p.another("evaluator", 1)
	p.kill(nodes[2]) // without a word
	nodes[2] = p.start("evaluator", "--role", "evaluator")
	if w := p.another("evaluator", 2); w.Round != "0" {
		t.Errorf("the replacement runs round %s", w.Round)
	}
	// The failure of the chief is another matter: all start again.
	of(training, "chief").Do("kill 9")
	second := p.round(1, 3)
	p.is(second, names(training)...)
	of(second, "chief").Do("exit 0")
	p.succeed(nodes, 1, 1, 0)
}

// TestARoleThatIsNeverRestarted ends the job with its failure, though that is worth a retry.
func TestARoleThatIsNeverRestarted(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2", "--roles", "data=never")
	nodes := p.startRoles("chief", "data")
	of(p.round(0, 2), "data").Do("kill 9")
	for _, e := range p.all(nodes, end{137, "retry", "KilledBySIGKILL"}) {
		if e.RootCause.Node != "data" {
			t.Errorf("%s: %+v", e.Node, e.RootCause)
		}
	}
}

// TestEvaluatorComesIntoARunningRound is a role that restarts alone beside checkpoints: it is handed the newest, and the
// others' are left as they are.
func TestEvaluatorComesIntoARunningRound(t *testing.T) {
	t.Parallel()
	p := resuming(t, 3, append(quickFence, tensorflowRoles...)...)
	s := newShelf(t, 100)
	p.flags = append(p.flags, s.flag())
	nodes := p.startRoles("chief", "ps", "evaluator")
	first := p.round(0, 3)
	p.from(of(first, "evaluator"), "resume", 100, s)
	s.save(200)
	of(first, "evaluator").Do("kill 9")
	p.from(p.another("evaluator", 1), "resume", 200, s)
	s.save(300)
	nodes[2].Signal(syscall.SIGTERM)
	p.all(nodes[2:], preempted)
	nodes[2] = p.start("evaluator", "--role", "evaluator")
	p.from(p.another("evaluator", 2), "resume", 300, s)
	of(first, "chief").Do("kill 9")
	second := p.round(1, 3)
	for _, w := range second {
		p.from(w, "resume", 300, s)
	}
	of(second, "chief").Do("exit 0")
	p.all(nodes, succeeded)
}
