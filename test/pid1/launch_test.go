package pid1_test

import (
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// mode is where gangrun stands.
type mode string

const (
	asPID1  mode = "pid1"  // the first process of a PID namespace
	asChild mode = "child" // an ordinary process, which makes itself a subreaper
)

// inBothModes runs the test with gangrun as PID 1 and as an ordinary process.
func inBothModes(t *testing.T, test func(t *testing.T, m mode)) {
	t.Parallel()
	for _, m := range []mode{asPID1, asChild} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			test(t, m)
		})
	}
}

// launch describes one gangrun.
type launch struct {
	mode     mode
	flags    []string // of gangrun run, in the form --flag=value
	worker   []string
	restarts bool     // as gangrun likes; without it, --no-restart
	before   []string // the command line that becomes gangrun's, such as env or nohup
	dir      string
	env      []string
	tty      bool       // standard input is a terminal that should become the controlling one
	stdin    *os.File   // nil: empty
	stdout   *os.File   // nil: a file, see job.output
	stderr   *os.File   // nil: a file, see job.errors
	extra    []*os.File // inherited as 4 and up
}

var pidNamespace = struct {
	once   sync.Once
	prefix []string
}{}

// pidNamespacePrefix asks only once whether this machine has PID namespaces.
func pidNamespacePrefix(t testing.TB) []string {
	pidNamespace.once.Do(func() { pidNamespace.prefix = harness.PIDNamespace(t) })
	if pidNamespace.prefix == nil {
		harness.PIDNamespace(t) // missing; say so here too
	}
	return pidNamespace.prefix
}

// argv is gangrun's whole command line.
func (l launch) argv(t testing.TB, messages string) []string {
	argv := slices.Clone(l.before)
	argv = append(argv, harness.Binary(t), "run", "--termination-log="+messages)
	if !l.restarts {
		argv = append(argv, "--no-restart")
	}
	argv = append(argv, l.flags...)
	argv = append(argv, "--")
	return append(argv, l.worker...)
}

// start starts gangrun. File descriptor 3 of everything it starts leads to job.expect.
func (l launch) start(t testing.TB) *job {
	t.Helper()
	j := &job{t: t, mode: l.mode, dir: t.TempDir()}
	argv := l.argv(t, j.path("message"))
	if l.mode == asPID1 {
		if l.tty {
			argv = append(probe("ctty"), argv...)
		}
		argv = append(slices.Clone(pidNamespacePrefix(t)), argv...)
	}
	j.cmd = exec.Command(argv[0], argv[1:]...)
	j.cmd.Dir = l.dir
	if err := os.Mkdir(j.path("tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	j.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + j.path("tmp"),
		harness.Mark(j.dir),
	}, l.env...)
	if l.tty && l.mode == asChild {
		j.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	if l.stdin != nil {
		j.cmd.Stdin = l.stdin
	}
	j.cmd.Stdout = fileOr(l.stdout, func() *os.File { return j.create("stdout") })
	j.cmd.Stderr = fileOr(l.stderr, func() *os.File { return j.create("stderr") })
	j.create("message") // as a kubelet does
	events, told, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	j.listen(events)
	j.cmd.ExtraFiles = append([]*os.File{told}, l.extra...)
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.end)
	return j
}

func fileOr(given *os.File, create func() *os.File) *os.File {
	if given != nil {
		return given
	}
	return create()
}
