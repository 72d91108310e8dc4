package compose_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/gangrun/gangrun/test/harness/etcdserver"
	"github.com/gangrun/gangrun/test/kubelet"
)

// steps is a training run of that many steps, each of which takes a moment.
func steps(n string) []string {
	return []string{"--steps", n, "--step-time", "0.02", "--checkpoint-every", "10"}
}

// TestTimes compares what has to be the same in two places.
func TestTimes(t *testing.T) {
	p := load(t, nil, "compose.yaml")
	if got := nodes(p); !slices.Equal(got, []string{"node0", "node1", "node2"}) {
		t.Fatalf("nodes %q", got)
	}
	for _, name := range nodes(p) {
		s := p.Services[name]
		at := slices.Index(s.Entrypoint, "--pod-grace")
		if grace, err := time.ParseDuration(s.Entrypoint[at+1]); err != nil || types.Duration(grace) != *s.StopGracePeriod {
			t.Errorf("%s: --pod-grace %v (%v), stop_grace_period %v", name, grace, err, *s.StopGracePeriod)
		}
		if s.Hostname != name || *s.Init {
			t.Errorf("%s: hostname %s, init %v", name, s.Hostname, *s.Init)
		}
	}
}

func TestSuccess(t *testing.T) {
	t.Parallel()
	j := up(t, load(t, nil, "compose.yaml"), kubelet.OnFailure, steps("30")...)
	j.end(0)
	j.want("starting from step 0 with 3 ranks", 1)
	j.want("final loss", 1)
}

// TestRestartInPlace kills a rank once. Compose learns nothing of it.
func TestRestartInPlace(t *testing.T) {
	t.Parallel()
	j := up(t, load(t, nil, "compose.yaml"), kubelet.OnFailure,
		append(steps("30"), "--die-at", "15", "--how", "SIGKILL", "--die-once", "/checkpoints/died")...)
	j.end(0)
	j.want("resumed from step 10", 1)
	j.want("final loss", 1)
}

// fatal has rank 2 exit with 3 before the others have heard of it: when they lose a rank on the way, the first thing that
// gangrun hears of may be their failure.
var fatal = []string{"EXIT_3=2"}

// TestFatal is a rank that exits: all nodes exit with its code.
func TestFatal(t *testing.T) {
	t.Parallel()
	j := upIn(t, kubelet.New(t), load(t, nil, "compose.yaml"), kubelet.Never, fatal, steps("30")...)
	j.end(3)
	j.want("round 1 of rank", 0)
}

// TestFatalIsRemembered is the same with an etcd: containers that are started again after that leave again, and none of
// them trains.
func TestFatalIsRemembered(t *testing.T) {
	t.Parallel()
	p := load(t, []string{"RUN=7"}, "compose.yaml", "compose.etcd.yaml")
	for _, name := range nodes(p) {
		if s := p.Services[name]; *s.Environment["GANGRUN_STORE"] != "http://etcd:2379" || *s.Environment["GANGRUN_RUN_UID"] != "7" || *s.Environment["PET_NNODES"] != "3" {
			t.Fatalf("%s: environment %v", name, s.Environment)
		}
	}
	c := kubelet.New(t)
	etcd := etcdserver.StartFor(t, c.Host(), 1, nil)
	j := upIn(t, c, p, kubelet.OnFailure, append(fatal, "GANGRUN_STORE="+etcd.Servers[0].Client), steps("30")...)
	j.until("two more ends", func(n *kubelet.Started) bool { return n.Status().Containers[0].RestartCount >= 2 })
	for _, n := range j.nodes {
		if last := n.Status().Containers[0].Last; last.ExitCode != 3 {
			t.Errorf("%s exited with %v", n.Pod.Name, last)
		}
	}
	j.want("round 0 of rank 2\n", 1)
	j.want("round 1 of rank", 0)
}

// TestStop is docker compose stop: all exit with 143, in time.
func TestStop(t *testing.T) {
	t.Parallel()
	j := up(t, load(t, nil, "compose.yaml"), kubelet.OnFailure, steps("100000")...)
	j.nodes[0].Await("step 10 ")
	for _, n := range j.nodes {
		n.Delete()
	}
	j.end(143)
}

// TestLostContainer kills one container, gangrun and all, which compose starts again. The others wait for it, until it is
// sure that nothing of the old one runs any more, and all go on.
func TestLostContainer(t *testing.T) {
	t.Parallel()
	mark := "COMPOSE_TEST=" + t.Name()
	j := upIn(t, kubelet.New(t), load(t, nil, "compose.yaml"), kubelet.OnFailure, []string{mark, "GANGRUN_FENCE_TIMEOUT=20s", "GANGRUN_RESTART_GRACE=1s"}, steps("100")...)
	j.nodes[0].Await("step 10 ")
	kill(t, mark, "PET_NODE_RANK=1")
	j.until("the end", func(n *kubelet.Started) bool { return n.Status().Containers[0].Terminated != nil })
	for i, n := range j.nodes {
		s := n.Status().Containers[0]
		if want := i % 2; s.Terminated.ExitCode != 0 || s.RestartCount != want {
			t.Errorf("%s exited with %v after %d restarts; want 0 after %d", n.Pod.Name, s.Terminated, s.RestartCount, want)
		}
	}
	j.want("starting from step 0", 1)
	j.want("resumed from step", 1)
	j.want("final loss", 1)
}

// kill kills the gangrun that has all of this in its environment.
func kill(t *testing.T, marks ...string) {
	t.Helper()
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range found {
		env, _ := os.ReadFile(file)
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if !strings.HasPrefix(string(command), "gangrun\x00run\x00") {
			continue
		}
		if variables := strings.Split(string(env), "\x00"); slices.ContainsFunc(marks, func(m string) bool { return !slices.Contains(variables, m) }) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no gangrun with %q", marks)
}
