package supervisor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/supervisor/process"
)

// TestAbort: the end of one is no event for the others, which wait for it.
func TestAbort(t *testing.T) {
	const many = 150
	waits, last, err := os.Pipe() // its end is that of the first
	if err != nil {
		t.Fatal(err)
	}
	defer waits.Close()
	said := filepath.Join(t.TempDir(), "said")
	var list []process.Descendant
	var all []*exec.Cmd
	for i := range many {
		c := exec.Command("sh", "-c", "echo; read x; echo $0 saw it >>"+said, fmt.Sprint(i))
		if i == 0 {
			c = exec.Command("sh", "-c", "echo; read x <&4")
			c.ExtraFiles = []*os.File{last, waits}
		} else {
			c.Stdin = waits
		}
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err == nil {
			_, err = out.Read(make([]byte, 1)) // it runs
		}
		if err != nil {
			t.Fatal(err)
		}
		list, all = append(list, process.Look(c.Process.Pid)...), append(all, c)
	}
	last.Close()
	abort(list)
	awaitEnd(list, time.Now().Add(20*time.Second))
	for i, c := range all {
		if left := process.Look(list[i].PID); len(left) > 0 && !left[0].Dead() {
			t.Errorf("%v is still there", left)
		}
		_ = c.Wait() // the error may be that a supervisor of another test has reaped it
	}
	if text, err := os.ReadFile(said); err == nil {
		t.Errorf("%s", text)
	}
}

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
