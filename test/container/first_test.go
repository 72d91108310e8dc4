package container_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

func parsePIDs(t *testing.T, text string) (pids []int) {
	t.Helper()
	for _, field := range strings.Fields(text) {
		var pid int
		if _, err := fmt.Sscan(field, &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// TestFirstProcess is gangrun as PID 1 of the container, with the message where the kubelet looks for it without a
// flag, whoever the container's user is.
func TestFirstProcess(t *testing.T) {
	for _, user := range []int{0, 1000} {
		t.Run(fmt.Sprint("user ", user), func(t *testing.T) {
			t.Parallel()
			// The worker's parent is PID 1, and that is gangrun.
			script := `echo "parent $PPID: $(tr '\0' ' ' </proc/1/cmdline)"; touch /canary; exit 7`
			e := box{user: user, worker: harness.Shell(script)}.run(t)
			e.Want(t, 7, exitcodes.Fatal, "Error")
			if !strings.Contains(e.Stdout, "parent 1: /gangrun run") {
				t.Errorf("%q", e.Stdout)
			}
			if !strings.Contains(e.Stderr, "Read-only file system") {
				t.Errorf("the root is not read-only: %q", e.Stderr)
			}
			if e.ExitCode != 7 || e.Node != "box" || len(e.Raw) != exitcodes.DefaultMessage {
				t.Errorf("%d bytes: %s", len(e.Raw), e.Raw)
			}
			for line := range strings.Lines(e.Stderr) {
				if strings.Contains(line, "level=WARN") {
					t.Errorf("it complains: %s", line)
				}
			}
		})
	}
}

// TestNoTerminationLog is a container without the kubelet's file: no message, and nothing to complain about.
func TestNoTerminationLog(t *testing.T) {
	for _, user := range []int{0, 1000} {
		t.Run(fmt.Sprint("user ", user), func(t *testing.T) {
			t.Parallel()
			e := box{user: user, noLog: true, flags: []string{"--no-restart"}, worker: harness.Shell("ls /dev; exit 200")}.run(t)
			if e.Code != 200 || len(e.Raw) != 0 || strings.Contains(e.Stdout, "termination-log") || strings.Contains(e.Stderr, "WARN") {
				t.Errorf("exit code %d, message %q, output %q, %q", e.Code, e.Raw, e.Stdout, e.Stderr)
			}
		})
	}
}

// TestRestartsInContainer restarts a worker that leaves a process with a session of its own behind, and ends with none.
func TestRestartsInContainer(t *testing.T) {
	t.Parallel()
	script := `ps -e -o comm= | grep -c sleep; setsid -f sleep 1000; [ $GANGRUN_ROUND = 2 ] || kill -KILL $$`
	e := box{user: 1000, flags: []string{"--restart-backoff", "1ms:1ms"}, worker: harness.Shell(script)}.run(t)
	e.Want(t, 0, exitcodes.Success, "Succeeded")
	if e.Stdout != "0\n0\n0\n" || *e.Round != 2 {
		t.Errorf("processes of older rounds: %q; round %d", e.Stdout, *e.Round)
	}
}

// TestContainerIsStopped is what the kubelet does: SIGTERM for PID 1.
func TestContainerIsStopped(t *testing.T) {
	t.Parallel()
	c := box{worker: harness.Shell(`trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done`)}.start(t)
	c.Await("ready")
	c.Signal(syscall.SIGTERM) // runc passes it on
	e := c.End(t)
	e.Want(t, 143, exitcodes.Preempted, "Preempted")
	if !strings.Contains(e.Stdout, "saved") || *e.WorkerExitCode != 0 {
		t.Errorf("%q, %s", e.Stdout, e.Raw)
	}
}

// TestDoctorInContainer knows the limit of the container.
func TestDoctorInContainer(t *testing.T) {
	t.Parallel()
	e := box{memory: 128 * mebi, user: 1000, worker: []string{"/gangrun", "doctor"}}.run(t)
	for _, want := range []string{"limit 128 MiB", "/dev/termination-log can be written", "/dev/shm         64 MiB"} {
		if !strings.Contains(e.Stdout, want) {
			t.Errorf("no %q in\n%s%s", want, e.Stdout, e.Stderr)
		}
	}
}
