package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// mark is the variable by which everything that a run has started is found: its value is the run's directory.
const mark = "TEST_RUN_DIR"

// Mark is what the environment of a run needs, for Leftovers to find its processes.
func Mark(dir string) string { return mark + "=" + dir }

// Leftovers are the living processes of the run of this directory, whatever session or parent they have now: those with
// the run's mark in their environment, and those whose working directory it is.
func Leftovers(dir string) []int {
	var pids []int
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range found {
		env, _ := os.ReadFile(process + "/environ") // of a zombie it is empty
		cwd, _ := os.Readlink(process + "/cwd")
		if cwd != dir && !strings.Contains("\x00"+string(env), "\x00"+Mark(dir)+"\x00") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(process, "/proc/%d", &pid); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// KillLeftovers kills them, and returns when they are gone.
func KillLeftovers(dir string) {
	for range 100 { // a process may start another between the look and the kill
		pids := Leftovers(dir)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
