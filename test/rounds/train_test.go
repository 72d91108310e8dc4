package rounds_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// turns bounds how many training jobs run at once: each starts several Pythons that load hundreds of megabytes.
var turns = make(chan struct{}, 2)

// training lets the test run beside others, when it is its turn.
func training(t *testing.T) {
	t.Helper()
	t.Parallel()
	turns <- struct{}{}
	t.Cleanup(func() { <-turns })
}

func trainer(name string) string { return filepath.Join(harness.Root(), "examples", "train", name) }

var finalLoss = regexp.MustCompile(`(?m)^(?:\[\S+\]: ?)?(final loss .*)$`)

// loss is what one of the nodes says at the end of the training.
func loss(t *testing.T, ends []harness.Ended) string {
	t.Helper()
	var found []string
	for _, e := range ends {
		for _, m := range finalLoss.FindAllStringSubmatch(e.Stdout, -1) {
			found = append(found, m[1])
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d final losses instead of one: %q", len(found), found)
	}
	return found[0]
}

// one keeps the libraries from starting a thread for each core of a large machine in every rank.
var one = []string{"OMP_NUM_THREADS=1", "TF_ENABLE_ONEDNN_OPTS=0"}

// TestTorch trains over two nodes, then eight, with and without the loss of a rank in the middle. The end is the same, to
// the last digit. The ranks are started by gangrun, or by a real torchrun on each node that is told where to meet in each
// round.
func TestTorch(t *testing.T) {
	steps := []string{trainer("torch_ddp.py"), "--steps", "40"}
	train := func(t *testing.T, mode string, count int, script ...string) []harness.Ended {
		p := sharedParty(t, fmt.Sprint(count))
		p.mode, p.env = mode, one
		var nodes []*node
		for i := range count {
			env, flags := one, []string{"--node-rank", fmt.Sprint(i)}
			command := append([]string{"--nproc-per-node", "1"}, script...)
			switch mode {
			case "launch":
				p.flags[0] = "--nnodes"
				flags = append(flags, "--max-restarts", "3")
				env = append(env[:len(env):len(env)], "PYTHON_EXEC="+harness.Peer(t, "torch/bin/python3"))
			case "run": // as the operator sets them for a PyTorchJob
				command = append([]string{"--", harness.Peer(t, "torch/bin/torchrun")}, command...)
				env = append(env[:len(env):len(env)], "MASTER_ADDR=127.0.0.1", "MASTER_PORT=23456", fmt.Sprint("WORLD_SIZE=", count), fmt.Sprint("RANK=", i),
					fmt.Sprint("PET_NNODES=", count), fmt.Sprint("PET_NODE_RANK=", i), "PET_MASTER_ADDR=127.0.0.1", "PET_MASTER_PORT=23456", "PET_NPROC_PER_NODE=auto")
			}
			p.env = env
			nodes = append(nodes, p.startCommand(fmt.Sprint("n", i), flags, command))
		}
		return p.all(nodes, succeeded)
	}
	for _, tt := range []struct {
		mode  string
		count int
	}{{"launch", 2}, {"run", 2}, {"launch", 8}} {
		mode, count := tt.mode, tt.count
		t.Run(fmt.Sprint(mode, " ", count), func(t *testing.T) {
			training(t)
			harness.Peer(t, "torch/bin/torchrun")
			var whole, torn string
			t.Run("whole", func(t *testing.T) { whole = loss(t, train(t, mode, count, steps...)) })
			t.Run("torn", func(t *testing.T) {
				dir := t.TempDir()
				ends := train(t, mode, count, append(steps[:len(steps):len(steps)], "--checkpoint-dir", filepath.Join(dir, "checkpoints"), "--checkpoint-every", "10",
					"--die-at", "25", "--die-rank", "1", "--how", "SIGKILL", "--die-once", filepath.Join(dir, "once"))...)
				torn = loss(t, ends)
				for _, e := range ends {
					if *e.Round != 1 || e.Restarts.Used != 1 {
						t.Errorf("%s ends in round %d, restarts %+v", e.Node, *e.Round, *e.Restarts)
					}
				}
				var out strings.Builder
				for _, e := range ends {
					out.WriteString(e.Stdout)
				}
				if !strings.Contains(out.String(), "resumed from step 20") {
					t.Errorf("it did not resume:\n%s", out.String())
				}
			})
			if !t.Failed() && whole != torn { // neither is empty: loss sees to it
				t.Errorf("%q with a restart, %q without", torn, whole)
			}
		})
	}
}

// TestTensorFlow is two tasks of a TFJob, of which one is killed. Both are restarted, and meet at their old addresses.
func TestTensorFlow(t *testing.T) {
	training(t)
	var addresses []string
	for range 2 {
		addresses = append(addresses, fmt.Sprintf("%q", freeAddr(t)))
	}
	dir := t.TempDir()
	p := sharedParty(t, "2")
	var nodes []*node
	for i := range 2 {
		p.env = append(one[:len(one):len(one)], fmt.Sprintf(`TF_CONFIG={"cluster":{"worker":[%s]},"task":{"type":"worker","index":%d}}`,
			strings.Join(addresses, ","), i))
		nodes = append(nodes, p.startCommand(fmt.Sprint("worker-", i), nil, []string{"--", harness.Peer(t, "tensorflow/bin/python3"),
			trainer("tf_mwms.py"), "--steps", "30", "--checkpoint-every", "10", "--checkpoint-dir", filepath.Join(dir, "checkpoints"),
			"--die-at", "25", "--die-once", filepath.Join(dir, "once")}))
	}
	ends := p.all(nodes, succeeded)
	loss(t, ends[:1]) // each of them says it
	for _, e := range ends {
		if *e.Round != 1 {
			t.Errorf("%s ends in round %d", e.Node, *e.Round)
		}
	}
	if !strings.Contains(ends[0].Stdout, "resumed from step 20") {
		t.Errorf("it did not resume:\n%s", ends[0].Stdout)
	}
}

// TestParameterServers is a TFJob under ParameterServerStrategy, with a worker and then the parameter server killed. A
// worker is started again alone, and the chief continues with it; the server takes all along. Only the chief ever ends
// by itself, and an evaluator that looks on.
func TestParameterServers(t *testing.T) {
	training(t)
	dir := t.TempDir()
	p := newParty(t, "--nodes", "5", "--endpoint", freeAddr(t), "--job", "pss", "--store-timeout", "30s")
	tasks := []string{"chief-0", "worker-0", "worker-1", "ps-0", "evaluator-0"}
	cluster := map[string][]string{}
	for _, task := range tasks {
		role, _, _ := strings.Cut(task, "-")
		cluster[role] = append(cluster[role], freeAddr(t))
	}
	nodes := map[string]*node{}
	for _, task := range tasks {
		role, index, _ := strings.Cut(task, "-")
		config, err := json.Marshal(map[string]any{"cluster": cluster, "task": map[string]string{"type": role, "index": index}})
		if err != nil {
			t.Fatal(err)
		}
		p.env = append(one[:len(one):len(one)], "TF_CONFIG="+string(config))
		nodes[task] = p.startCommand(task, nil, []string{"--", harness.Peer(t, "tensorflow/bin/python3"), trainer("tf_pss.py"), "--steps", "80",
			"--step-time", "0.2", "--checkpoint-every", "10", "--checkpoint-dir", filepath.Join(dir, "checkpoints")})
	}
	nodes["worker-1"].Await("worker 1 serves")
	nodes["chief-0"].Await("step 10 ")
	nodes["worker-1"].killWorker(t)
	nodes["worker-1"].Await("this node restarts its workers alone")
	nodes["chief-0"].Await("step 30 ") // which it would not reach if the others were stopped for that
	nodes["ps-0"].killWorker(t)
	nodes["chief-0"].Await("resumed from step")
	var ends []harness.Ended
	for _, task := range tasks {
		ends = append(ends, p.all([]*node{nodes[task]}, succeeded)...)
	}
	for _, e := range ends {
		if *e.Round != 1 || e.Restarts.Used+e.Restarts.Preemptions > 1 {
			t.Errorf("%s ends in round %d, restarts %+v", e.Node, *e.Round, *e.Restarts)
		}
	}
	chief := ends[0]
	if !strings.Contains(chief.Stdout, "final error 0.0") || strings.Count(chief.Stdout, "starting from step 0") != 1 {
		t.Errorf("the chief:\n%s", chief.Stdout)
	}
	// In the last round the chief may be done before that worker, of which it needs nothing, is there.
	if n := strings.Count(ends[2].Stdout, "worker 1 serves"); n < 2 || n > 3 {
		t.Errorf("worker 1 came up %d times, want once, once alone and perhaps once with all", n)
	}
	if !strings.Contains(ends[4].Stdout, "evaluated step ") {
		t.Errorf("the evaluator:\n%s%s", ends[4].Stdout, ends[4].Stderr)
	}
}

// killWorker kills the process that the gangrun has started.
func (n *node) killWorker(t *testing.T) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", n.PID()))
	if err != nil {
		t.Fatal(err)
	}
	var children []string
	for _, thread := range threads {
		list, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		children = append(children, strings.Fields(string(list))...)
	}
	if len(children) != 1 {
		t.Fatalf("%s has the workers %q", n.name, children)
	}
	pid, err := strconv.Atoi(children[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
