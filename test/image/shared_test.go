package image_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

// orphans makes an orphan that ends when it is told, waits until it is reaped, and leaves another behind.
const orphans = `
import os, subprocess, sys, time
gangrun = os.getppid()
print("first:", *open("/proc/1/cmdline").read().split("\0"))
print("gangrun:", gangrun, *open(f"/proc/{gangrun}/cmdline").read().split("\0")[:4])

told, tell = os.pipe()
answer, say = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        os.close(tell)
        os.write(say, str(os.getpid()).encode())
        os.read(told, 1)
        os._exit(0)
    os._exit(0)
orphan = int(os.read(answer, 20))
os.wait()

def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])

print("the orphan is gangrun's:", parent(orphan) == gangrun)
os.close(tell)
while os.path.exists(f"/proc/{orphan}"): # as long as it is a zombie
    time.sleep(0.01)
print("it was reaped")
left = subprocess.Popen(["sleep", "1000"], start_new_session=True)
sys.stdout.flush()
os._exit(7)
`

// TestSharedProcessNamespace is a pod with shareProcessNamespace: the first process is not gangrun, and one that reaps
// nothing. gangrun reaps its own, clears up after its worker, and leaves the other container alone.
func TestSharedProcessNamespace(t *testing.T) {
	images := build(t)
	t.Parallel()
	namespace := pause(t, images)
	e := box{image: images.train, user: 1000, pids: namespace, args: []string{"python3", "-c", orphans}}.run(t)
	e.Want(t, 7, exitcodes.Fatal, "Error")
	for _, want := range []string{"first: sleep infinity", " gangrun run -- python3\n", "the orphan is gangrun's: True", "it was reaped"} {
		if !strings.Contains(e.Stdout, want) {
			t.Errorf("no %q in %q", want, e.Stdout)
		}
	}
	if strings.Contains(e.Stdout, "gangrun: 1 ") {
		t.Errorf("gangrun is the first process: %q", e.Stdout)
	}
	if !strings.Contains(e.Stderr, "sleep") {
		t.Errorf("not a word about what was left behind: %s", e.Stderr)
	}
	if left := inNamespace(t, namespace); len(left) != 1 {
		t.Errorf("%d processes are left in the pod, want one: %q", len(left), left)
	}
}

// pause starts what is the first process of a pod, and returns its PID namespace. It reaps nothing, for nobody is to
// rely on that.
func pause(t *testing.T, images *images) (namespace string) {
	t.Helper()
	pid := box{image: images.bare, user: 65535, command: []string{"sleep", "infinity"}}.background(t)
	return filepath.Join("/proc", pid, "ns", "pid")
}

// inNamespace is the state of every process in a PID namespace, zombies too.
func inNamespace(t *testing.T, namespace string) (states []string) {
	t.Helper()
	want, err := os.Readlink(namespace)
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if got, err := os.Readlink(path); err == nil && got == want {
			stat, _ := os.ReadFile(filepath.Join(path, "..", "..", "stat")) // only for the message
			states = append(states, string(stat))
		}
	}
	return states
}
