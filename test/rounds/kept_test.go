package rounds_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/exitcodes"
)

// TestSuspendedJobOutlivesItsPods drains a whole job that has no store but the one within its nodes: what is left of it is
// a file beside its checkpoints, and it continues where it was.
func TestSuspendedJobOutlivesItsPods(t *testing.T) {
	t.Parallel()
	p, addr := hostedParty(t, "2", "c10d")
	s := newShelf(t, 100)
	p.flags = append(p.flags, "--fence-timeout", "16s", "--restart-grace", "1s",
		s.flag(), "--checkpoint-pattern=step-*", "--checkpoint-marker=DONE")
	start := func() []*node {
		t.Helper()
		host := p.start("n0")
		listens(t, addr)
		return []*node{host, p.start("n1")}
	}
	nodes := start()
	first := p.round(0, 2)
	first[0].Do("kill 9")
	second := p.round(1, 2)
	for _, n := range nodes {
		n.Signal(syscall.SIGTERM)
	}
	p.all(nodes, preempted)
	for _, w := range second {
		p.stopped(w)
	}
	nodes = start()
	third := p.round(2, 2)
	if third[0].Decision != "resume" || third[0].Step != "100" {
		t.Errorf("round 2 begins with %s of step %q", third[0].Decision, third[0].Step)
	}
	finish(third)
	for _, e := range p.all(nodes, succeeded) {
		if e.Restarts.Used != 1 || e.Restarts.Preemptions != 1 {
			t.Errorf("%s ends with restarts %+v", e.Node, *e.Restarts)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, checkpoint.RecordFile)); !os.IsNotExist(err) {
		t.Errorf("the record of a job that has ended is still there: %v", err)
	}
}

// TestAllPodsAreBack drains a PyTorchJob and brings its pods back. The operator gives no name twice, so that nobody else can
// be left of it: nothing waits for the fence, which would outlast this test.
func TestAllPodsAreBack(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(freeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	s := newShelf(t, 100)
	p := newParty(t, "--job", jobName(t), "--fence-timeout", "1h", "--store-port", port, s.flag(),
		"--checkpoint-pattern=step-*", "--checkpoint-marker=DONE")
	start := func() (nodes []*node) {
		t.Helper()
		for i := range 2 {
			p.env = []string{"MASTER_ADDR=127.0.0.1", "MASTER_PORT=23456", "PET_MASTER_ADDR=127.0.0.1", "PET_MASTER_PORT=23456", "PET_NNODES=2",
				fmt.Sprint("PET_NODE_RANK=", i), "WORLD_SIZE=2", fmt.Sprint("RANK=", i)}
			nodes = append(nodes, p.start(fmt.Sprint("n", i)))
			listens(t, "127.0.0.1:"+port) // so that it is the first that hosts the store
		}
		return nodes
	}
	nodes := start()
	p.round(0, 2)
	s.keeps(`"round":0,`)
	for _, n := range nodes {
		n.Signal(syscall.SIGTERM)
	}
	p.all(nodes, preempted)
	nodes = start()
	finish(p.round(1, 2))
	for _, e := range p.all(nodes, succeeded) {
		if e.Restarts.Used != 0 {
			t.Errorf("%s ends with restarts %+v", e.Node, *e.Restarts)
		}
	}
}

// TestKilledAltogether kills gangrun itself again and again, as the kernel does for memory: the budget has to see that,
// or it would go on for ever.
func TestKilledAltogether(t *testing.T) {
	t.Parallel()
	p := newParty(t, "--job", jobName(t), "--max-restarts", "1")
	s := newShelf(t, 100)
	p.flags = append(p.flags, s.flag(), "--checkpoint-pattern=step-*", "--checkpoint-marker=DONE")
	workers := 0
	starts := func(round string) (*node, *worker) {
		t.Helper()
		n := p.start("n0")
		w := p.another("n0", workers)
		workers++
		if w.Round != round {
			t.Errorf("start %d is of round %s, want %s", workers, w.Round, round)
		}
		s.keeps(`"round":` + round + ",")
		return n, w
	}
	for _, round := range []string{"0", "1"} {
		n, _ := starts(round)
		p.kill(n)
	}
	for _, e := range p.all([]*node{p.start("n0")}, end{210, exitcodes.Retry, "RestartBudgetExhausted"}) {
		if e.Restarts.Used != 1 {
			t.Errorf("restarts %+v", *e.Restarts)
		}
	}
	// Whoever starts it once more wants it to run; and progress refunds what was used.
	n, _ := starts("0")
	s.save(200)
	p.kill(n)
	n, w := starts("1")
	w.Do("exit 0")
	for _, e := range p.all([]*node{n}, succeeded) {
		if e.Restarts.Used != 1 {
			t.Errorf("restarts %+v", *e.Restarts)
		}
	}
}

// keeps waits until the record beside the checkpoints says something.
func (s shelf) keeps(text string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		record, err := checkpoint.ReadRecord(s.dir)
		if strings.Contains(string(record), text) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the record does not say %s: %s, %v", text, record, err)
		}
	}
}
