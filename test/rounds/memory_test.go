package rounds_test

import (
	"os"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestExecutableMemory runs two nodes where the kernel refuses to make memory that can be executed as a file
// (vm.memfd_noexec, since Linux 6.3; for each PID namespace), as hardened clusters have it.
func TestExecutableMemory(t *testing.T) {
	const knob = "/proc/sys/vm/memfd_noexec"
	if _, err := os.Stat(knob); err != nil {
		harness.Missing(t, knob, "run the tests on Linux 6.3 or newer")
	}
	t.Parallel()
	refusing := harness.PIDNamespace(t, harness.Shell(`echo 2 >`+knob+` && exec "$@"`)...)
	p, _ := hostedParty(t, "2", "c10d")
	p.in = func(string) []string { return refusing }
	nodes := p.startAll(2)
	p.round(0, 2)[1].Do("kill 9")
	finish(p.round(1, 2))
	p.all(nodes, succeeded)
}
