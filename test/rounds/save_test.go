package rounds_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// phases are those of test/rounds/testdata/phases.py in which the ranks of a job may be when notice comes.
var phases = []string{"compile", "warm-up", "step", "eval", "save"}

// saving is a job of two nodes that train with real torch, and look at GANGRUN_STOP_FILE.
type saving struct {
	*party
	ranks int // of each node
	nodes []*node
	round int
	env   []string
}

var savedAt = regexp.MustCompile(`round (\d+) rank (\d): (saved at|begins at) step (\d+)\.`)

func (s *saving) begin(i int) *node {
	s.t.Helper()
	s.party.env = append([]string{"PYTHON_EXEC=" + harness.Peer(s.t, "torch/bin/python3")}, append(s.env, one...)...)
	return s.startCommand(fmt.Sprint("n", i), []string{"--node-rank", fmt.Sprint(i)}, []string{"--nproc-per-node", fmt.Sprint(s.ranks),
		filepath.Join(harness.Root(), "test/rounds/testdata/phases.py"), filepath.Join(harness.Root(), "examples"), s.Dir + "/checkpoints", "100000"})
}

func newSaving(t *testing.T, ranks int, env ...string) *saving {
	p := sharedParty(t, "2", "--notice-signal", "USR1@2m", "--grace", "40s", "--restart-backoff", "1ms:1ms")
	p.mode, p.flags[0] = "launch", "--nnodes"
	p.limit = 10 * time.Minute // a node lives as long as it is not called away itself
	p.flags = append(p.flags, "--checkpoint-dir", p.Dir+"/checkpoints")
	s := &saving{party: p, ranks: ranks, env: env}
	s.nodes = []*node{s.begin(0), s.begin(1)}
	return s
}

// at is what the ranks have said about a round: the step at which each of them has saved, or begun.
func (s *saving) at(what string, round int, outputs ...string) (steps map[int]bool, ranks int) {
	steps = map[int]bool{}
	for _, out := range outputs {
		for _, m := range savedAt.FindAllStringSubmatch(out, -1) {
			if m[1] == fmt.Sprint(round) && m[3] == what {
				step, _ := strconv.Atoi(m[4])
				steps[step] = true
				ranks++
			}
		}
	}
	return steps, ranks
}

// notice calls a node away, or suspends the job, in the middle of a phase, and has it come back. It returns the step at
// which all ranks have saved.
func (s *saving) notice(phase, how string, i int, late time.Duration) int {
	t := s.t
	t.Helper()
	s.nodes[i].Await(fmt.Sprintf("round %d rank %d: %s.", s.round, s.ranks*i, phase))
	time.Sleep(late)
	other := s.nodes[1-i]
	var ends []harness.Ended
	switch how {
	case "suspend":
		if res := remote(t, "suspend", jobName(t)); res.Code != 0 {
			s.fatalf("suspend: exit code %d, %s", res.Code, res.Stderr)
		}
		ends = s.all(s.nodes, end{143, exitcodes.Suspended, exitcodes.ReasonSuspended})
		if res := remote(t, "resume", jobName(t)); res.Code != 0 {
			s.fatalf("resume: exit code %d, %s", res.Code, res.Stderr)
		}
		s.nodes = []*node{s.begin(0), s.begin(1)}
	default:
		sig := map[string]syscall.Signal{"notice": syscall.SIGUSR1, "stop": syscall.SIGTERM}[how]
		s.nodes[i].Signal(sig)
		ends = s.all(s.nodes[i:i+1], preempted)
		s.nodes[i] = s.begin(i)
	}
	// The others have saved before the next round begins.
	for k, n := range s.nodes {
		for r := range s.ranks {
			n.Await(fmt.Sprintf("round %d rank %d: begins at step ", s.round+1, s.ranks*k+r))
		}
	}
	var outs []string
	for _, e := range ends {
		outs = append(outs, e.Stdout)
	}
	if how != "suspend" {
		outs = append(outs, other.Output())
	}
	steps, ranks := s.at("saved at", s.round, outs...)
	if len(steps) != 1 || ranks != 2*s.ranks {
		t.Errorf("%s of n%d in %s: %d ranks have saved, at %v\n%s", how, i, phase, ranks, steps, strings.Join(outs, "\n"))
		return -1
	}
	step := -1
	for step = range steps {
	}
	for _, e := range ends {
		if want := fmt.Sprintf("; all ranks here have saved at step %d, as agreed", step); !strings.HasSuffix(e.Message.Message, want) {
			t.Errorf("%s: the message does not end with %q: %s", e.Node, want, e.Raw)
		}
		if strings.Contains(e.Stderr, "SIGKILL") || e.Restarts.Used != 0 {
			t.Errorf("%s: %s\n%s", e.Node, e.Raw, e.Stderr)
		}
	}
	s.round++
	outs = nil
	for _, n := range s.nodes {
		outs = append(outs, n.Output())
	}
	if begun, ranks := s.at("begins at", s.round, outs...); ranks != 2*s.ranks || len(begun) != 1 || !begun[step] {
		t.Errorf("%s of n%d in %s: saved at step %d, and %d ranks begin at %v", how, i, phase, step, ranks, begun)
	}
	return step
}

// TestAllSaveAtTheSameStep gives notice at random moments of a real training on two nodes, by a signal, a stop or a
// command. Each time all ranks have saved at the same step, and begin there again. make test-long does it a hundred times.
func TestAllSaveAtTheSameStep(t *testing.T) {
	notices, seed := []int{3}, time.Now().UnixNano()
	if os.Getenv("GANGRUN_TEST_LONG") != "" {
		notices = []int{70, 30}
	}
	if n, err := strconv.Atoi(os.Getenv("GANGRUN_TEST_NOTICES")); err == nil {
		notices = []int{n}
	}
	if n, err := strconv.ParseInt(os.Getenv("GANGRUN_TEST_SEED"), 10, 64); err == nil {
		seed = n
	}
	for i, times := range notices {
		t.Run(fmt.Sprint(i+1, " ranks on each node"), func(t *testing.T) { notice(t, i+1, times, seed) })
	}
}

func notice(t *testing.T, ranks, times int, seed int64) {
	training(t)
	harness.Peer(t, "torch/bin/torchrun")
	random := rand.New(rand.NewPCG(uint64(seed), uint64(ranks)))
	t.Logf("GANGRUN_TEST_SEED=%d GANGRUN_TEST_NOTICES=%d", seed, times)
	s := newSaving(t, ranks)
	before, done := 0, 0
	for k := range times {
		phase, how, i := phases[random.IntN(len(phases))], []string{"notice", "stop", "suspend"}[random.IntN(3)], random.IntN(2)
		late := time.Duration(random.Int64N(int64(300 * time.Millisecond)))
		began := time.Now()
		step := s.notice(phase, how, i, late)
		if t.Failed() {
			t.Fatalf("notice %d of %d: %s of n%d, %v after the beginning of %s", k+1, times, how, i, late, phase)
		}
		if step <= before {
			t.Fatalf("saved at step %d after %d", step, before)
		}
		before = step
		done++
		t.Logf("notice %d: %s of n%d, %v into %s: all %d ranks saved at step %d, and began there (%v)", k+1, how, i,
			late.Round(time.Millisecond), phase, 2*ranks, step, time.Since(began).Round(time.Second))
	}
	t.Logf("%d notices, %d times all ranks saved at the same step", times, done)
	for _, n := range s.nodes {
		n.Signal(syscall.SIGTERM)
	}
	s.all(s.nodes, preempted)
}

// TestNobodyLooksAtTheFile ends a training run as before that does not look at the file, and says so.
func TestNobodyLooksAtTheFile(t *testing.T) {
	training(t)
	harness.Peer(t, "torch/bin/torchrun")
	s := newSaving(t, 1, "BLIND=1")
	s.nodes[1].Await("rank 1: step.")
	s.nodes[1].Signal(syscall.SIGUSR1)
	for _, e := range s.all(s.nodes[1:], preempted) {
		if want := "no rank has said that it looks at GANGRUN_STOP_FILE"; !strings.Contains(e.Message.Message, want) || !strings.Contains(e.Stderr, want) {
			t.Errorf("neither the message nor the log says %q: %s\n%s", want, e.Raw, e.Stderr)
		}
	}
	s.nodes[0].Await("no rank has said that it looks at GANGRUN_STOP_FILE")
	s.nodes[0].Signal(syscall.SIGTERM)
	s.all(s.nodes[:1], preempted)
}
