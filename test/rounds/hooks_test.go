package rounds_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// hooked gives the nodes a hook of either kind, which write down where they ran, and of which incarnation's gangrun.
func hooked(p *party) *party {
	for _, kind := range []string{"on-exit", "on-job-end"} {
		script := fmt.Sprintf(`echo "$GANGRUN_NODE_NAME $PPID $GANGRUN_VERDICT" >>%s/%s`, p.Dir, kind)
		p.flags = append(p.flags, "--"+kind, "sh -c '"+script+"'")
	}
	return p
}

// ran is where the hooks of a kind ran, and what they were told.
func ran(t *testing.T, p *party, kind string) (nodes, verdicts []string, pids []int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Dir, kind))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var node, verdict string
		var pid int
		if _, err := fmt.Sscan(line, &node, &pid, &verdict); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		nodes, verdicts, pids = append(nodes, node), append(verdicts, verdict), append(pids, pid)
	}
	slices.Sort(nodes)
	return nodes, verdicts, pids
}

// ranOnAll fails the test unless the hooks ran on these nodes, and one of them did what is done once.
func ranOnAll(t *testing.T, p *party, verdict string, names ...string) {
	t.Helper()
	nodes, verdicts, _ := ran(t, p, "on-exit")
	once, onceVerdicts, _ := ran(t, p, "on-job-end")
	if !slices.Equal(nodes, names) || len(once) != 1 {
		t.Errorf("on exit of %v, want %v; at the job's end on %v, want one", nodes, names, once)
	}
	if slices.ContainsFunc(append(verdicts, onceVerdicts...), func(v string) bool { return v != verdict }) {
		t.Errorf("they were told %v and %v, want %s", verdicts, onceVerdicts, verdict)
	}
}

// TestHooksOfTheJob run on all nodes, and that of the job's end on one, whatever that end is.
func TestHooksOfTheJob(t *testing.T) {
	for name, tt := range map[string]struct {
		how  string
		want end
	}{
		"success": {"exit 0", succeeded},
		"fatal":   {"exit 3", end{3, exitcodes.Fatal, "Error"}},
		"retry":   {"kill 9", end{137, exitcodes.Retry, "RestartBudgetExhausted"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := hooked(sharedParty(t, "3", "--max-restarts", "1", "--restart-backoff", "1ms:2ms"))
			nodes := p.startAll(3)
			rounds := 1
			if name == "retry" {
				rounds = 2
			}
			for number := range rounds {
				for i, w := range p.round(number, 3) {
					if i == 1 || name == "success" {
						w.Do("%s", tt.how)
					}
				}
			}
			for _, e := range p.all(nodes, tt.want) {
				if len(e.Hooks) < 1 || e.Hooks[0] != (exitcodes.Hook{Name: "on-exit:sh"}) {
					t.Errorf("%s: hooks %+v", e.Node, e.Hooks)
				}
			}
			ranOnAll(t, p, string(tt.want.verdict), "n0", "n1", "n2")
		})
	}
}

// TestJobEndAfterTheLeadWasKilled kills the leader. Another node leads, ends the job, and it alone does what is done
// once.
func TestJobEndAfterTheLeadWasKilled(t *testing.T) {
	t.Parallel()
	p := hooked(sharedParty(t, "2", append([]string{"--log-level", "debug"}, quickFence...)...))
	lead := p.start("n0")
	lead.Await("this node leads")
	nodes := []*node{p.start("n1")}
	first := p.round(0, 2)
	p.kill(lead)
	nodes[0].Await("this node leads")
	nodes = append(nodes, p.start("n0"))
	second := p.round(1, 2)
	p.is(second, names(first)...)
	finish(second)
	p.all(nodes, succeeded)
	ranOnAll(t, p, "success", "n0", "n1")
	if _, _, pids := ran(t, p, "on-job-end"); pids[0] != nodes[0].PID() {
		t.Errorf("it was gangrun %d that did it, and not the new lead, %d", pids[0], nodes[0].PID())
	}
}

// TestHookOfOneNodeFails is a failed hook after a success: only the node itself ends otherwise.
func TestHookOfOneNodeFails(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2")
	nodes := []*node{p.start("n0", "--on-exit", "false"), p.start("n1", "--on-exit", "true")}
	finish(p.round(0, 2))
	nodes[0].End().Want(t, 92, exitcodes.Fatal, "ExitHookFailed")
	nodes[1].End().Want(t, 0, exitcodes.Success, "Succeeded")
}

// TestPreemptedNodeHasOnlyItsOwnHook asks one node to stop, which is not the job's end.
func TestPreemptedNodeHasOnlyItsOwnHook(t *testing.T) {
	t.Parallel()
	p := hooked(sharedParty(t, "2", "--log-level", "debug"))
	nodes := []*node{p.start("n0")}
	nodes[0].Await("this node leads")
	nodes = append(nodes, p.start("n1"))
	p.round(0, 2)
	nodes[0].Signal(syscall.SIGTERM)
	p.all(nodes[:1], preempted)
	left, verdicts, _ := ran(t, p, "on-exit")
	ended, _, _ := ran(t, p, "on-job-end")
	if !slices.Equal(left, []string{"n0"}) || verdicts[0] != "preempted" || len(ended) > 0 {
		t.Errorf("on exit of %v (%v), at the job's end on %v", left, verdicts, ended)
	}
	nodes[0] = p.start("n0")
	finish(p.round(1, 2))
	p.all(nodes, succeeded)
	if ended, _, _ = ran(t, p, "on-job-end"); len(ended) != 1 {
		t.Errorf("at the job's end on %v", ended)
	}
}

// TestSuspendedJobHasNotEnded asks all nodes to stop.
func TestSuspendedJobHasNotEnded(t *testing.T) {
	t.Parallel()
	p := hooked(sharedParty(t, "2"))
	nodes := p.startAll(2)
	p.round(0, 2)
	for _, n := range nodes {
		n.Signal(syscall.SIGTERM)
	}
	p.all(nodes, preempted)
	left, _, _ := ran(t, p, "on-exit")
	if ended, _, _ := ran(t, p, "on-job-end"); !slices.Equal(left, []string{"n0", "n1"}) || len(ended) > 0 {
		t.Errorf("on exit of %v, at the job's end on %v", left, ended)
	}
}

// TestOthersDoNotWaitForHooks lets the hook at the job's end hang. The other nodes have long left by then, and nobody
// counts on the one that has the hook any more.
func TestOthersDoNotWaitForHooks(t *testing.T) {
	for _, where := range []string{"external", "hosted"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			var p *party
			if where == "external" {
				p = sharedParty(t, "2")
			} else {
				p, _ = hostedParty(t, "2", "c10d")
			}
			wait := fmt.Sprintf(`echo hangs; until [ -e %s/enough ]; do sleep 0.02; done`, p.Dir)
			p.flags = append(p.flags, "--on-job-end", "sh -c '"+wait+"'")
			nodes := p.startAll(2)
			finish(p.round(0, 2))
			first := 0
			select {
			case <-nodes[0].Done():
			case <-nodes[1].Done():
				first = 1
			}
			nodes[first].End().Want(t, 0, exitcodes.Success, "Succeeded")
			nodes[1-first].Await("[on-job-end] hangs")
			if where == "external" {
				harness.Eventually(t, limit, "no node is there any more", func() bool { return p.keys("nodes/") == 0 })
			}
			select {
			case <-nodes[1-first].Done():
				t.Error("it has not waited for its hook")
			default:
			}
			if err := os.WriteFile(p.Dir+"/enough", nil, 0o644); err != nil {
				t.Fatal(err)
			}
			nodes[1-first].End().Want(t, 0, exitcodes.Success, "Succeeded")
		})
	}
}

// keys is how many keys of the job in the shared etcd begin like that.
func (p *party) keys(prefix string) int {
	p.t.Helper()
	res, err := shared.get(p.t).Admin(p.t).Get(context.Background(), key(p.t, prefix), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		p.t.Fatal(err)
	}
	return int(res.Count)
}
