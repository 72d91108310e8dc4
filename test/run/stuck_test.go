package run_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// margin is what a stop may take beyond the grace, and what a busy machine adds.
const margin = 3 * time.Second

// deadServer mounts a file system whose server never answers: every look at it hangs, as with a dead NFS server.
func deadServer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	dies(t, dir)
	return dir
}

// dies mounts it over a directory.
func dies(t *testing.T, dir string) {
	t.Helper()
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil || os.Geteuid() != 0 {
		harness.Missing(t, "/dev/fuse and root", "run the tests as root, with the kernel's fuse module")
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)
	if err := syscall.Mount("dead", dir, "fuse", 0, options); err != nil {
		syscall.Close(fd)
		harness.Missing(t, "a FUSE mount ("+err.Error()+")", "run the tests where mounts are allowed")
	}
	t.Cleanup(func() {
		syscall.Close(fd) // whoever waits gets an error
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fifoLogs is a log directory in which a FIFO stands for each file of the first round.
func fifoLogs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "round_0", "0"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stdout.log", "stderr.log"} {
		if err := syscall.Mkfifo(filepath.Join(dir, "round_0", "0", name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// stopsAtOnce asks a run with a grace of a second to stop, and wants it to be over then.
func stopsAtOnce(t *testing.T, r *harness.Running) harness.Ended {
	t.Helper()
	at := time.Now()
	r.Signal(syscall.SIGTERM)
	e := preempted(t, r, "SIGTERM from outside")
	if took := time.Since(at); took > time.Second+margin {
		t.Errorf("it took %v", took)
	}
	return e
}

// TestStopWithStuckLogs has log files that cannot be opened, or take nothing any more: the worker starts without them, and
// a stop is answered in time, before and after that.
func TestStopWithStuckLogs(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T) string{"FIFOs": fifoLogs, "a dead file server": deadServer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(t, deaf, "--log-dir", make(t), "--grace", "1s")
			e := stopsAtOnce(t, r)
			if strings.Count(e.Stderr, "the worker starts without it") != 2 {
				t.Errorf("it does not say once for each file that it is missing:\n%s", e.Stderr)
			}
		})
	}
	t.Run("while they are opened", func(t *testing.T) {
		t.Parallel()
		at := time.Now()
		r := harness.Job{Flags: []string{"--log-dir", fifoLogs(t), "--log-level", "debug"}, Worker: harness.Shell("echo started")}.Start(t, limit)
		harness.Eventually(t, limit, "a thread that opens a FIFO", func() bool { return opening(r.PID()) })
		r.Signal(syscall.SIGTERM)
		e := preempted(t, r, "SIGTERM from outside before the worker was started")
		if took := time.Since(at); e.Stdout != "" || took > margin {
			t.Errorf("it started %q; it took %v", e.Stdout, took)
		}
	})
	t.Run("they are full", func(t *testing.T) {
		t.Parallel()
		dir := fifoLogs(t)
		for _, name := range []string{"stdout.log", "stderr.log"} { // a reader that does not read
			f, err := os.OpenFile(filepath.Join(dir, "round_0", "0", name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
		}
		r := begin(t, harness.Shell("echo training; yes & yes >&2"), "--log-dir", dir, "--grace", "1s", "--log-prefix", "x")
		stopsAtOnce(t, r)
	})
}

// TestMainThreadIsFree has several runs whose threads hang in a dead file server, whichever the runtime chose: the main
// thread is never among them, since it is the one that the kernel wakes for a signal.
func TestMainThreadIsFree(t *testing.T) {
	t.Parallel()
	dead := deadServer(t)
	var runs []*harness.Running
	for i := range 6 {
		runs = append(runs, harness.Job{Flags: []string{"--log-dir", filepath.Join(dead, strconv.Itoa(i))}, Worker: deaf}.Start(t, limit))
	}
	for _, r := range runs {
		r.Await("training")
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", r.PID(), r.PID()))
		if err != nil {
			t.Fatal(err)
		}
		if _, state, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(state, "D") {
			t.Error("the main thread hangs in the file server")
		}
		r.Signal(syscall.SIGKILL)
	}
}

// opening reports whether a thread of the process waits for the other end of a FIFO.
func opening(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", pid))
	for _, file := range tasks {
		if where, _ := os.ReadFile(file); strings.Contains(string(where), "fifo") || strings.Contains(string(where), "wait_for_partner") {
			return true
		}
	}
	return false
}

// TestStopWithADeadReader has a console that nobody reads: after the worker a second signal ends the wait for it.
func TestStopWithADeadReader(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.Command(harness.Binary(t), append([]string{"run", "--termination-log", log, "--"}, harness.Shell("yes | head -c 1000000; exit 3")...)...)
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	harness.Eventually(t, limit, "the verdict", func() bool {
		data, _ := os.ReadFile(log)
		return strings.Contains(string(data), `"exitCode":3`)
	})
	at := time.Now()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
	if took := time.Since(at); harness.Code(cmd.ProcessState) != 3 || took > margin {
		t.Errorf("exits with %d after %v", harness.Code(cmd.ProcessState), took)
	}
}

// TestCommandOnADeadServer exits with 214 and names the path; a fork would have hung gangrun as a whole.
func TestCommandOnADeadServer(t *testing.T) {
	t.Parallel()
	command := filepath.Join(deadServer(t), "train")
	e := harness.Job{Worker: []string{command}}.Run(t, limit)
	e.Want(t, 214, exitcodes.Retry, "NodeUnhealthy")
	if !strings.Contains(e.Message.Message, command) {
		t.Errorf("it does not name the path: %s", e.Raw)
	}

	at := time.Now()
	r := harness.Job{Worker: []string{command}, Flags: []string{"--grace", "1s"}}.Start(t, limit)
	harness.Eventually(t, limit, "its message", func() bool { // gangrun listens, and looks for the command
		data, _ := os.ReadFile(r.Log)
		return strings.Contains(string(data), "killed while the worker ran")
	})
	r.Signal(syscall.SIGTERM)
	preempted(t, r, "SIGTERM from outside before the worker was started")
	if took := time.Since(at); took > time.Second+margin {
		t.Errorf("it took %v", took)
	}
}

// TestDirectoryDies has the working directory's server die while a worker runs, which then fails. Its successor cannot be
// forked, and a stop is answered all the same.
func TestDirectoryDies(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	fifo, log := filepath.Join(other, "fifo"), filepath.Join(other, "message")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &harness.Running{Log: log, Process: harness.Start(t, limit, nil, "sh", "-c", `cd "$0" && exec "$@"`, dir,
		harness.Binary(t), "run", "--termination-log", log, "--grace", "1s", "--", "sh", "-c", "echo training; read fails <"+fifo+"; exit 200")}
	r.Await("training")
	dies(t, dir)
	if err := os.WriteFile(fifo, []byte("now\n"), 0); err != nil {
		t.Fatal(err)
	}
	r.Await("restarting")
	stopsAtOnce(t, r)
}

// TestErrorFileOnADeadServer counts as one that is absent.
func TestErrorFileOnADeadServer(t *testing.T) {
	t.Parallel()
	e := harness.Job{
		Worker: harness.Shell("exit 3"), Env: []string{"TORCHELASTIC_ERROR_FILE=" + filepath.Join(deadServer(t), "error.json")},
	}.Run(t, limit)
	e.Want(t, 3, exitcodes.Fatal, "Error")
	if e.Took > margin+2*time.Second {
		t.Errorf("it took %v", e.Took)
	}
}

// TestFullDisk has no room for logs, the state directory and temporary files: the training runs, and a stop is answered.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		harness.Missing(t, "root", "run the tests as root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("full", dir, "tmpfs", 0, "size=64k"); err != nil {
		harness.Missing(t, "a tmpfs mount ("+err.Error()+")", "run the tests where mounts are allowed")
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	if err := os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 60<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	r := begin(t, harness.Shell(`yes | head -c 200000; trap "exit 0" TERM; echo training; while :; do sleep 0.05; done`),
		"--log-dir", filepath.Join(dir, "logs"), "--state-dir", filepath.Join(dir, "state"), "--grace", "1s")
	e := stopsAtOnce(t, r)
	if !strings.Contains(e.Stderr, "no space left") {
		t.Error(e.Stderr)
	}
}
