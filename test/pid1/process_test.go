package pid1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// childrenOf lists a process's children. It is empty for a process that is gone.
func childrenOf(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var children []int
	for _, file := range files {
		raw, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(raw)) {
			n, _ := strconv.Atoi(field)
			children = append(children, n)
		}
	}
	return children
}

// state is a process's state as ps shows it, such as S or T.
func state(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	stat := string(raw)
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])[0]
}

// waitStopped waits until a child of this process has stopped.
func waitStopped(t testing.TB, pid int) {
	t.Helper()
	stopped := make(chan error, 1)
	go func() {
		stopped <- unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
	}()
	select {
	case err := <-stopped:
		if err != nil {
			t.Fatal(err)
		}
		if s := state(pid); s != "T" {
			t.Fatalf("state %s, want it stopped", s)
		}
	case <-time.After(limit):
		t.Fatal("did not stop")
	}
}
