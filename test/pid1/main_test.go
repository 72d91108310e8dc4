// Package pid1_test holds gangrun against what tini, dumb-init and catatonit promise as the first process of a
// container, and against what they do not: that nothing is left running, that what is left gets time to finish, that
// no signal is lost on the way. Most tests run twice, with gangrun as PID 1 and as an ordinary process.
//
// GANGRUN_BINARY puts another program under the tests; testdata/as-dumb-init and testdata/as-tini dress those two up
// for it. The tests that they fail are the ones where gangrun promises more.
package pid1_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// probePath is the program of the directory probe, built for this run.
var probePath string

func TestMain(m *testing.M) {
	harness.Parallel(3 * runtime.GOMAXPROCS(0)) // the tests wait more than they work
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gangrun-probe-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	probePath = filepath.Join(dir, "probe")
	build := exec.Command("go", "build", "-o", probePath, "./test/pid1/probe")
	build.Dir = harness.Root()
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	if left := probes(); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "the tests have left probes behind:", left)
		return max(code, 1)
	}
	return code
}

// probes are the living probes of this run.
func probes() (processes []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range all {
		if program, err := os.Readlink(process + "/exe"); err == nil && program == probePath {
			processes = append(processes, process)
		}
	}
	return processes
}

// probe is the command line of a probe.
func probe(args ...string) []string {
	return append([]string{probePath}, args...)
}

// sh is the command line of a shell script.
func sh(script string) []string {
	return []string{"/bin/sh", "-c", script}
}
