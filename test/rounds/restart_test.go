package rounds_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestRankIsKilled kills one rank of several nodes, twice. Everybody stops and begins the next round, at another port
// and with the same ranks; the job succeeds when the last node is done, and not before.
func TestRankIsKilled(t *testing.T) {
	for _, count := range []int{2, 8} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			p := sharedParty(t, fmt.Sprint(count), "--restart-backoff", "1ms:2ms")
			nodes := p.startAll(count)
			first := p.round(0, count)
			first[count-1].Do("kill 9")
			for _, w := range first {
				p.stopped(w)
			}
			second := p.round(1, count)
			p.is(second, names(first)...)
			second[0].Do("kill 9")
			third := p.round(2, count)
			p.is(third, names(first)...)
			ports := []string{first[0].Port, second[0].Port, third[0].Port}
			if slices.Sort(ports); len(slices.Compact(slices.Clone(ports))) != 3 {
				t.Errorf("the rounds' ports are %v", ports)
			}
			third[1].Do("exit 0") // and waits for the others
			p.stopped(third[1])
			for i, w := range third {
				if i != 1 && w.Gone() {
					t.Errorf("rank %d was stopped when another was done", i)
				}
			}
			finish(third)
			for _, e := range p.all(nodes, succeeded) {
				if *e.Round != 2 || e.Restarts.Used != 2 || e.Restarts.Max != 3 {
					t.Errorf("%s ends in round %d, restarts %+v", e.Node, *e.Round, *e.Restarts)
				}
			}
		})
	}
}

// TestFatalEndsAll ends one rank with a code that no restart is for.
func TestFatalEndsAll(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "3")
	nodes := p.startAll(3)
	workers := p.round(0, 3)
	workers[1].Do("exit 7")
	for _, e := range p.all(nodes, end{7, exitcodes.Fatal, "Error"}) {
		blames(t, e.RootCause, workers[1].Node, 7)
	}
}

func blames(t *testing.T, c *exitcodes.RootCause, node string, code int) {
	t.Helper()
	if c == nil || c.Node != node || c.ExitCode == nil || *c.ExitCode != code {
		t.Errorf("the root cause is %+v, want exit code %d of %s", c, code, node)
	}
}

// TestBudgetIsSpent lets ranks fail until no restart is left.
func TestBudgetIsSpent(t *testing.T) {
	one := []string{"--max-restarts", "1", "--restart-backoff", "1ms:2ms"}
	tests := []struct {
		name  string
		flags []string
		want  end
	}{
		{"retry", one, end{200, exitcodes.Retry, "RestartBudgetExhausted"}},
		{"fatal", append(one, "--on-exhausted", "fatal"), end{90, exitcodes.Fatal, "RestartBudgetExhausted"}},
		{"none", []string{"--no-restart"}, end{200, exitcodes.Retry, "Error"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := sharedParty(t, "2", tt.flags...)
			nodes := p.startAll(2)
			last := p.round(0, 2)
			if tt.name != "none" {
				last[0].Do("kill 9")
				last = p.round(1, 2)
			}
			last[1].Do("exit 200")
			for _, e := range p.all(nodes, tt.want) {
				blames(t, e.RootCause, last[1].Node, 200)
			}
		})
	}
}

// TestStubbornWorker is a worker that does not hear SIGTERM. The next round waits until it has been killed.
func TestStubbornWorker(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2", "--restart-grace", "1s")
	nodes := p.startAll(2)
	first := p.round(0, 2)
	n0 := of(first, "n0")
	n0.Do("defy")
	n0.Do("say deaf")
	nodes[0].Await("deaf")
	of(first, "n1").Do("kill 9")
	finish(p.round(1, 2)) // the workers look themselves whether one of round 0 is still there
	p.all(nodes, succeeded)
}

// TestLaunch starts several ranks on each node, as torchrun's flags ask for them.
func TestLaunch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		how  string
		want end
	}{
		{"an exit code", "exit 3", end{3, exitcodes.Fatal, "Error"}},
		{"a signal", "kill 9", end{137, exitcodes.Retry, "KilledBySIGKILL"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newParty(t, "--nnodes", "2", "--nproc-per-node", "2", "--store", storeOf(shared.get(t)), "--job", jobName(t))
			p.mode = "launch"
			nodes := []*node{p.start("n0", "--node-rank", "0"), p.start("n1", "--node-rank", "1")}
			workers := p.round(0, 4)
			for i, w := range workers {
				if w.WorldSize != "4" || w.RestartCount != "0" || w.Node != workers[i/2*2].Node {
					t.Errorf("rank %d is %+v", i, w.hello)
				}
			}
			workers[3].Do(tt.how)
			for _, e := range p.all(nodes, tt.want) {
				if c := e.RootCause; c == nil || c.Node != workers[3].Node || c.Rank == nil || *c.Rank != 3 {
					t.Errorf("%s: rank 3 is not named: %s", e.Node, e.Raw)
				}
			}
		})
	}
}

// TestMasterPortRange keeps the rounds' ports within a range, each at another one.
func TestMasterPortRange(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2", "--master-port-range", "23000-23999", "--restart-backoff", "1ms:2ms")
	nodes := p.startAll(2)
	var ports []string
	for round := range 3 {
		workers := p.round(round, 2)
		if n, err := strconv.Atoi(workers[0].Port); err != nil || n < 23000 || n > 23999 {
			t.Errorf("round %d meets at port %s", round, workers[0].Port)
		}
		ports = append(ports, workers[0].Port)
		if round < 2 {
			workers[1].Do("kill 9")
		} else {
			finish(workers)
		}
	}
	if slices.Sort(ports); len(slices.Compact(slices.Clone(ports))) != 3 {
		t.Errorf("the rounds' ports are %v", ports)
	}
	p.all(nodes, succeeded)
}

// TestAnEchoComesFirst is the same over nodes as within one: the peer of a worker that fails for good ends before it does.
func TestAnEchoComesFirst(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "3", "--max-restarts", "3")
	nodes := p.startAll(3)
	workers := p.round(0, 3)
	echo := of(workers, "n1")
	echo.Do("say RuntimeError: [/src/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:4711")
	echo.Do("exit 1")
	nodes[1].Await("PeerLost")
	of(workers, "n0").Do("exit 3")
	for _, e := range p.all(nodes, end{3, exitcodes.Fatal, "Error"}) {
		if e.RootCause.Node != "n0" {
			t.Errorf("%s: %+v", e.Node, e.RootCause)
		}
	}
}

// TestWhoNamesWhom has two ranks that failed for good and do not end, as one does that has a thread left, and a third that
// waits for them in vain and says who did not come: of those that are then stopped on other nodes it is the named one that
// counts, and it counts everywhere.
func TestWhoNamesWhom(t *testing.T) {
	t.Parallel()
	p := newParty(t, "--nnodes", "3", "--nproc-per-node", "1", "--store", storeOf(shared.get(t)), "--job", jobName(t))
	p.mode = "launch"
	nodes := p.startAll(3)
	workers := p.round(0, 3)
	raise := func(w *worker, what string) {
		for _, line := range []string{"Traceback (most recent call last):", `  File "/app/train.py", line 9, in <module>`, "    main()", what} {
			w.Do("say " + line)
		}
	}
	named, waits, other := ofRank(workers, "1"), ofRank(workers, "0"), ofRank(workers, "2")
	raise(other, "KeyError: 'of the other'")
	nodeNamed(nodes, other.Node).Await("KeyError: 'of the other'")
	raise(named, "KeyError: 'of the named one'")
	nodeNamed(nodes, named.Node).Await("KeyError: 'of the named one'")
	waits.Do("say [rank0]:[E1122 12:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: " +
		"WorkNCCL(SeqNum=183, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.")
	waits.Do("say [rank0]:[E1122 12:00:00.1 ProcessGroupNCCL.cpp:616] [1] finished collective #182, but didn't join collective #183")
	waits.Do("exit 134")
	for _, e := range p.all(nodes, end{1, exitcodes.Fatal, "CodeError"}) {
		if c := e.RootCause; c.Node != named.Node || c.Rank == nil || *c.Rank != 1 || c.Evidence != "KeyError: 'of the named one'" ||
			!strings.Contains(e.Message.Message, "rank 1 was stopped when it had failed already") {
			t.Errorf("%s: %q, %+v", e.Node, e.Message.Message, c)
		}
	}
}

// ofRank is the worker of a rank.
func ofRank(workers []*worker, rank string) *worker {
	return workers[slices.IndexFunc(workers, func(w *worker) bool { return w.Rank == rank })]
}

// nodeNamed is the gangrun of that name.
func nodeNamed(nodes []*node, name string) *node {
	return nodes[slices.IndexFunc(nodes, func(n *node) bool { return n.name == name })]
}

// TestPeerIsNamedByAddress has a rank lose its connection to another node, which gloo calls by its address only, and whose own
// ranks say nothing: the failure stays with who tells of it, and the node is named beside it.
func TestPeerIsNamedByAddress(t *testing.T) {
	t.Parallel()
	p := newParty(t, "--nnodes", "2", "--nproc-per-node", "1", "--store", storeOf(shared.get(t)), "--job", jobName(t), "--no-restart")
	p.mode = "launch"
	nodes := []*node{p.start("n0", "--node-address", "127.0.0.1"), p.start("n1", "--node-address", "127.0.0.2")}
	workers := p.round(0, 2)
	lost := workers[slices.IndexFunc(workers, func(w *worker) bool { return w.Node == "n0" })]
	silent := workers[slices.IndexFunc(workers, func(w *worker) bool { return w.Node == "n1" })]
	for _, line := range []string{"Traceback (most recent call last):", `  File "/app/train.py", line 9, in <module>`, "    main()",
		"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.2]:3469"} {
		lost.Do("say " + line)
	}
	lost.Do("exit 1")
	for _, e := range p.all(nodes, end{210, exitcodes.Retry, exitcodes.ReasonRetryableByRule}) {
		want := fmt.Sprintf("the suspect is rank %s on n1 (127.0.0.2), named by rank %s: it said nothing itself of a failure", silent.Rank, lost.Rank)
		if c := e.RootCause; c.Node != "n0" || !strings.Contains(e.Message.Message, want) {
			t.Errorf("%s: %q, %+v; want %q", e.Node, e.Message.Message, c, want)
		}
	}
}
