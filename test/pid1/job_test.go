package pid1_test

import (
	"bufio"
	"errors"
	"io"
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

// limit is how long anything may take before a test calls it a hang.
const limit = time.Minute

// job is a running gangrun.
type job struct {
	t       testing.TB
	mode    mode
	cmd     *exec.Cmd
	dir     string
	events  *os.File
	lines   *bufio.Reader
	process int // gangrun's pid as this process sees it, once looked up
}

// listen makes events what expect and the like read.
func (j *job) listen(events *os.File) { j.events, j.lines = events, bufio.NewReader(events) }

func (j *job) path(name string) string { return filepath.Join(j.dir, name) }

func (j *job) create(name string) *os.File {
	j.t.Helper()
	file, err := os.Create(j.path(name))
	if err != nil {
		j.t.Fatal(err)
	}
	j.t.Cleanup(func() { file.Close() })
	return file
}

// end leaves nothing behind: unshare takes its namespace along and a worker dies with its gangrun, but not what the
// worker has started.
func (j *job) end() {
	if j.cmd.ProcessState == nil {
		j.cmd.Process.Kill()
		j.cmd.Wait()
	}
	harness.KillLeftovers(j.dir)
	j.events.Close()
	if j.t.Failed() {
		j.t.Logf("%q\nstdout: %s\nstderr: %s\nmessage: %s", j.cmd.Args, clip(j.output()), clip(j.errors()),
			clip(strings.TrimSpace(j.read("message"))))
	}
}

func clip(s string) string {
	if len(s) > 4000 {
		return s[:4000] + "..."
	}
	return s
}

// pid is gangrun's process id, as seen from here. As PID 1 it is known once gangrun has been started, which whoever
// has read an event knows.
func (j *job) pid() int {
	j.t.Helper()
	if j.process == 0 {
		j.process = j.cmd.Process.Pid
		if j.mode == asPID1 {
			children := childrenOf(j.process)
			if len(children) != 1 {
				j.t.Fatalf("unshare has the children %v", children)
			}
			j.process = children[0]
		}
	}
	return j.process
}

// signal sends gangrun a signal.
func (j *job) signal(sig syscall.Signal) {
	j.t.Helper()
	if err := syscall.Kill(j.pid(), sig); err != nil {
		j.t.Fatalf("signal %d: %v", sig, err)
	}
}

// next is the next line that something under gangrun wrote to file descriptor 3; io.EOF says that nothing is left
// that could write one.
func (j *job) next(within time.Duration) (string, error) {
	j.events.SetReadDeadline(time.Now().Add(within))
	line, err := j.lines.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// expect reads one line for each argument and wants them to be the same. A line that ends in a star stands for all
// that begin like it.
func (j *job) expect(want ...string) {
	j.t.Helper()
	for _, w := range want {
		got, err := j.next(limit)
		if err != nil {
			j.t.Fatalf("waiting for %q: %v", w, err)
		}
		if begin, any := strings.CutSuffix(w, "*"); got != w && !(any && strings.HasPrefix(got, begin)) {
			j.t.Fatalf("got %q, want %q", got, w)
		}
	}
}

// rest reads lines until nothing is left that could write one.
func (j *job) rest() []string {
	j.t.Helper()
	var lines []string
	for {
		line, err := j.next(limit)
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			j.t.Fatalf("after %q: %v", lines, err)
		}
		lines = append(lines, line)
	}
}

// ready reads the line in which the named probe says that it is ready, and returns its process id as itself sees it.
func (j *job) ready(name string) int {
	j.t.Helper()
	line, err := j.next(limit)
	if err != nil {
		j.t.Fatalf("waiting for %s: %v", name, err)
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(line, name+" ready "))
	if err != nil {
		j.t.Fatalf("got %q, want %s to be ready", line, name)
	}
	return pid
}

// wait waits for gangrun's end and returns its exit code.
func (j *job) wait() int {
	j.t.Helper()
	hang := time.AfterFunc(limit, func() {
		j.cmd.Process.Kill()
	})
	j.cmd.Wait()
	if !hang.Stop() {
		j.t.Fatalf("still running after %v", limit)
	}
	return harness.Code(j.cmd.ProcessState)
}

// exits waits for gangrun's end and wants its exit code.
func (j *job) exits(code int) {
	j.t.Helper()
	if got := j.wait(); got != code {
		j.t.Fatalf("exit code %d, want %d", got, code)
	}
}

// gone wants nothing of what gangrun started to be alive, after gangrun's own end: not in a moment, now. Nor are there
// any temporary files.
func (j *job) gone() {
	j.t.Helper()
	for {
		line, err := j.next(100 * time.Millisecond)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			j.t.Fatalf("something outlives gangrun")
		}
		j.t.Logf("unread: %s", line)
	}
	if left, _ := filepath.Glob(j.path("tmp/*")); len(left) > 0 {
		j.t.Errorf("left behind: %q", left)
	}
}

func (j *job) read(name string) string {
	raw, _ := os.ReadFile(j.path(name))
	return string(raw)
}

// output and errors are what has arrived on standard output and standard error.
func (j *job) output() string { return j.read("stdout") }
func (j *job) errors() string { return j.read("stderr") }

// message is the termination message.
func (j *job) message() exitcodes.Message {
	j.t.Helper()
	return harness.Message(j.t, j.path("message"))
}
