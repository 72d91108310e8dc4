// Package slurm_test runs examples/slurm under a real Slurm: a controller and two nodes, each with a network and a host
// name of its own, on this machine. Only root can run these tests.
package slurm_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// limit is far more than any job here takes.
const limit = 4 * time.Minute

// inside is set in the environment of the tests when they run in the namespaces that the cluster is in.
const inside = "GANGRUN_TEST_SLURM"

// namespaces are of the cluster alone: its network, where all ports are free, its hosts file, and its processes, which
// end with the tests. A shell is their first process: slurmd leaves orphans to it.
var namespaces = []string{
	"unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child=KILL",
	"/bin/sh", "-c", `"$0" "$@"; exit $?`,
}

func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" && os.Geteuid() == 0 && missing() == "" {
		unshare, _ := exec.LookPath(namespaces[0])
		err := syscall.Exec(unshare, append(namespaces, os.Args...), append(os.Environ(), inside+"=1"))
		fmt.Fprintln(os.Stderr, "unshare:", err)
		os.Exit(1)
	}
	harness.ClearEnvironment()
	harness.Parallel(6) // most of the time these tests wait for Slurm
	code := m.Run()
	shared.stop()
	os.Exit(code)
}

// missing is a program that the tests need and that is not on this machine.
func missing() string {
	for _, program := range []string{"unshare", "nsenter", "ip", "munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "scancel"} {
		if _, err := exec.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}
