package container_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// greedy takes memory until it is killed; where several processes could be, it is the one.
const greedy = `
with open("/proc/self/oom_score_adj", "w") as f:
    f.write("1000")
print("taking memory", flush=True)
taken = []
while True:
    taken.append(bytearray(b"x") * (1 << 20))
`

const mebi = 1 << 20

// TestWorkerIsKilledForMemory is a worker that takes more than the container may have.
func TestWorkerIsKilledForMemory(t *testing.T) {
	tests := []struct {
		name   string
		worker []string
	}{
		{"by itself", []string{"python3", "-c", greedy}},
		{"under a shell", harness.Shell(`python3 -c "$1"; exit $?`, greedy)},                       // 137, an exit code
		{"under a launcher that exits with 1", harness.Shell(`python3 -c "$1" || exit 1`, greedy)}, // as torchrun does
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := box{memory: 128 * mebi, flags: []string{"--no-restart"}, worker: tt.worker}.run(t)
			e.Want(t, 137, exitcodes.Retry, "OOMKilled")
			if e.ExitCode != 137 || e.RootCause == nil || e.RootCause.Reason != "OOMKilled" || !strings.Contains(e.RootCause.Evidence, "memory") {
				t.Errorf("%s", e.Raw)
			}
		})
	}
}

// TestKilledForMemoryOnce restarts a worker that takes too much in its first round. An old kill is not evidence about
// a later round.
func TestKilledForMemoryOnce(t *testing.T) {
	t.Parallel()
	e := box{memory: 128 * mebi, worker: harness.Shell(`case $GANGRUN_ROUND in 0) exec python3 -c "$1";; *) kill -KILL $$;; esac`, greedy),
		flags: []string{"--max-restarts", "1"}}.run(t)
	e.Want(t, 137, exitcodes.Retry, "RestartBudgetExhausted")
	if e.RootCause.Reason != "KilledBySIGKILL" || !strings.Contains(e.Stderr, "OOMKilled") {
		t.Errorf("%s\n%s", e.Raw, e.Stderr)
	}
}

// TestKilledWithoutMemoryTrouble is a SIGKILL in a container with a limit that nobody came near.
func TestKilledWithoutMemoryTrouble(t *testing.T) {
	t.Parallel()
	e := box{memory: 128 * mebi, flags: []string{"--no-restart"}, worker: harness.Shell("kill -KILL $$")}.run(t)
	e.Want(t, 137, exitcodes.Retry, "KilledBySIGKILL")
}

// TestContainerIsKilledForMemory lets the kernel kill gangrun itself, as it does with memory.oom.group=1, which the
// kubelet sets on cgroup version 2. What was written beforehand is all that is left, and it has to do. Version 1 has no
// such setting: there gangrun is made the process that the kernel prefers to kill, which takes the others along since
// it is PID 1.
func TestContainerIsKilledForMemory(t *testing.T) {
	t.Parallel()
	// The worker inherits the score and takes its own back; then it waits for the word to go.
	const waiting = `
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print("ready", flush=True)
signal.sigwait({signal.SIGUSR1})
`
	modest := strings.Replace(greedy, `"1000"`, `"0"`, 1)
	c := box{memory: 128 * mebi, oomScore: 1000, flags: []string{"--job", "llm"}, worker: []string{"python3", "-c", waiting + modest}}.start(t)
	c.Await("ready")
	dir, v2 := cgroup(t, c)
	if v2 {
		if err := os.WriteFile(filepath.Join(dir, "memory.oom.group"), []byte("1"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.Signal(syscall.SIGUSR1) // runc passes it on to gangrun, and gangrun to the worker
	e := c.End(t)
	e.Want(t, 137, exitcodes.Retry, "Killed")
	if !strings.Contains(e.Stdout, "taking memory") {
		t.Errorf("it was not memory: %q", e.Stdout)
	}
	if e.ExitCode != 137 || *e.Round != 0 || e.Job != "llm" || e.StartedAt.IsZero() || !e.FinishedAt.IsZero() {
		t.Errorf("%s", e.Raw)
	}
}

// TestWholeCgroupIsKilled is the same without the kernel's part in it: SIGKILL for every process of the container at
// once, from outside.
func TestWholeCgroupIsKilled(t *testing.T) {
	t.Parallel()
	c := box{worker: harness.Shell("sleep 1000 & echo ready; wait")}.start(t)
	c.Await("ready")
	dir, _ := cgroup(t, c)
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	pids := parsePIDs(t, string(data))
	if len(pids) < 3 {
		t.Fatalf("processes %v", pids)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // PID 1's death may have been quicker
	}
	c.End(t).Want(t, 137, exitcodes.Retry, "Killed")
}
