package supervisor

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoCore: the limit is the one that keeps the kernel from handing a core to a program, too, where it may be set at all.
func TestNoCore(t *testing.T) {
	for _, hard := range []uint64{unix.RLIM_INFINITY, 0} {
		sleeper := exec.Command("sleep", "1000")
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		pid := sleeper.Process.Pid
		if err := unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{Cur: 0, Max: hard}, nil); err != nil {
			t.Logf("limit %d: %v", hard, err)
		}
		noCore(pid)
		var limit unix.Rlimit
		filter, err := os.ReadFile(fmt.Sprintf("/proc/%d/coredump_filter", pid))
		if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &limit); err != nil {
			t.Error(err)
		}
		if limit.Cur != 1 && (limit.Cur != 0 || err != nil || strings.Trim(string(filter), "0\n") != "") {
			t.Errorf("the limit is %+v, the filter %s (%v)", limit, filter, err)
		}
		_, _ = sleeper.Process.Kill(), sleeper.Wait()
	}
}
