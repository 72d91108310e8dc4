package hang_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// runOnNodes runs a job of two ranks on each of two nodes, and returns how each has ended.
func runOnNodes(t *testing.T, how, sign string, env []string, flags ...string) (nodes [2]ended) {
	t.Helper()
	parallel(t)
	script := harness.Script(t, "gang.py")
	endpoint := freeAddress(t)
	env = append([]string{"OMP_NUM_THREADS=1", "PYTHON_EXEC=" + harness.Peer(t, "torch/bin/python3")}, env...)
	var started [2]*harness.Process
	for i := range started {
		nodes[i].dir = t.TempDir()
		argv := append([]string{
			harness.Binary(t), "launch", "--nnodes", "2", "--node-rank", fmt.Sprint(i), "--node", fmt.Sprintf("node%d", i),
			"--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint, "--rdzv-id", "hangs",
			"--log-dir", nodes[i].dir, "--termination-log", filepath.Join(nodes[i].dir, "message"),
			"--events", filepath.Join(nodes[i].dir, "events"),
		}, flags...)
		started[i] = harness.Start(t, limit, env, append(argv, script, how, sign)...)
		harness.Eventually(t, limit, "the store", func() bool { // of the first node, whichever ends first
			conn, err := net.Dial("tcp", endpoint)
			if err == nil {
				conn.Close()
			}
			return err == nil
		})
	}
	for i, p := range started {
		nodes[i].Result = p.Wait()
		nodes[i].Message = harness.Message(t, filepath.Join(nodes[i].dir, "message"))
		nodes[i].dir = filepath.Join(nodes[i].dir, "*")
	}
	return nodes
}

func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	return free.Addr().String()
}

// TestNodes: one rank of four on two nodes gets nowhere. Both nodes say which, and where it stands, and leave the stacks
// of their ranks.
func TestNodes(t *testing.T) {
	for _, way := range ways {
		if way.how == "destroy" || way.how == "exit" {
			continue // what becomes of them the other node has no part in
		}
		t.Run(way.how, func(t *testing.T) {
			if way.how != "sleep" {
				long(t)
			}
			var says []string
			for _, text := range way.says {
				if !strings.HasPrefix(text, "the others in") { // they may have failed of the end of those on the other node
					says = append(says, text)
				}
			}
			if way.how == "leave" { // two ranks that wait, each for something else: the stacks of several nodes are not compared
				says = []string{"rank 2 is in recv", "leaves_the_collective (gang.py:"}
			}
			nodes := runOnNodes(t, way.how, "told", nil, "--hang-timeout", "3s")
			for i, e := range nodes {
				e.says(t, way.code, way.reason, says...)
				if i == 1 {
					e.within(t, 5*time.Second)
				}
			}
		})
	}
}

// TestNodesByOutput: what they print is all there is.
func TestNodesByOutput(t *testing.T) {
	long(t)
	for i, e := range runOnNodes(t, "sleep", "output", nil, "--hang", "act", "--hang-timeout", "20s") {
		e.says(t, 212, exitcodes.ReasonHang, "rank 2 made no progress", "sleep_in_step (gang.py:")
		if i == 1 {
			e.within(t, 22*time.Second)
		}
	}
}

// TestNodesSave: rank 0 saves a checkpoint for longer than a step may take, and says so. Those on the other node, which wait for
// it and say nothing, are left alone, too.
func TestNodesSave(t *testing.T) {
	long(t)
	nodes := runOnNodes(t, "saves", "told", nil, "--hang-timeout", "4s", "--max-restarts", "0")
	for i, e := range nodes {
		e.says(t, 0, exitcodes.ReasonSucceeded)
		if strings.Contains(e.Stderr, "level=ERROR") || strings.Contains(e.Stderr, "are busy") != (i == 1) {
			t.Error(e.Stderr)
		}
	}
}

// TestNodesGoOn: after the hang the job resumes from its checkpoint on both nodes, to its end.
func TestNodesGoOn(t *testing.T) {
	long(t)
	dir := t.TempDir()
	nodes := runOnNodes(t, "sleep", "told", []string{"CHECKPOINTS=" + dir},
		"--hang-timeout", "3s", "--max-restarts", "1", "--checkpoint-dir", dir, "--checkpoint-pattern", "step-*.pt")
	for _, e := range nodes {
		e.says(t, 0, exitcodes.ReasonSucceeded)
		if strings.Count(e.Stdout, "resumed at 20") != 2 {
			t.Errorf("%s\n%s", e.Stdout, e.Stderr)
		}
	}
	if !strings.Contains(nodes[1].Stderr, "rank 2 made no progress") {
		t.Error(nodes[1].Stderr)
	}
}

// TestFlightRecorder: the rank that has joined fewer collectives, of the whole job or of a smaller group, is told by torch's
// flight recorder, also where no stack could tell it: over torch's control plane, and by what its watchdog writes into files.
// What each rank's recorder has is kept.
func TestFlightRecorder(t *testing.T) {
	long(t)
	dump := filepath.Join(t.TempDir(), "trace_")
	const missing = "it has not joined collective 30 of process group "
	for name, test := range map[string]struct {
		how   string
		flags []string
		env   []string
		says  string
		kept  string
	}{
		"the whole job":        {"leave", []string{"--torch-control-plane"}, nil, "it has joined 29 collectives, the others more", "json"},
		"a group":              {"groups", []string{"--torch-control-plane"}, nil, missing, "json"},
		"a group, by a pickle": {"groups", nil, []string{"TORCH_FR_DUMP_TEMP_FILE=" + dump}, missing, "pickle"},
	} {
		t.Run(name, func(t *testing.T) {
			e := gang{how: test.how, sign: "told", env: test.env, flags: append([]string{
				"--hang-timeout", "4s", "--max-restarts", "0", "--python-stacks", "off",
			}, test.flags...)}.run(t)
			e.says(t, 212, exitcodes.ReasonHang, "rank 2 made no progress", test.says)
			if test.how == "groups" && !strings.Contains(e.Message.Message, "in which rank 3 stands: all_reduce") {
				t.Error(e.Message.Message)
			}
			files, _ := filepath.Glob(filepath.Join(e.dir, "hang_*", "rank*-flight."+test.kept))
			if len(files) != 4 {
				t.Errorf("%q, want 4 files", files)
			}
		})
	}
}

// TestNodesHalfTime: when half of the limit has passed one of the nodes says how far all of them are.
func TestNodesHalfTime(t *testing.T) {
	long(t)
	nodes := runOnNodes(t, "sleep", "told", nil, "--hang-timeout", "14s")
	const said = `msg="the job may be hanging: half of the limit has passed on all nodes" nodes="all nodes that report are at step 29"`
	if n := strings.Count(nodes[0].Stderr+nodes[1].Stderr, said); n != 1 {
		t.Errorf("said %d times, want once: %s\n%s", n, nodes[0].Stderr, nodes[1].Stderr)
	}
}
