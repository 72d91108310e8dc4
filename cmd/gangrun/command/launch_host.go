package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// processors is how many this process may run on, which is what torch counts.
func processors() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 1
	}
	return set.Count()
}

// keepDescriptors keeps the descriptors that gangrun was started with, beyond the standard three, from the ranks, as
// Python's subprocess does for torchrun. (run passes them on, as an init does.)
func keepDescriptors() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// launcherName is the name under which gangrun is torchrun.
const launcherName = "torchrun"

// besideTorchrun is the directory of the link named torchrun that we were started by, or "".
func besideTorchrun() string {
	if filepath.Base(os.Args[0]) != launcherName {
		return ""
	}
	path, err := exec.LookPath(os.Args[0])
	if err != nil {
		return ""
	}
	return filepath.Dir(path)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
