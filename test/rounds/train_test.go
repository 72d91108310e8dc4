package rounds_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// turns bounds how many trainings run at once: each starts several Pythons that load hundreds of megabytes.
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
			if whole == "" || whole != torn {
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
