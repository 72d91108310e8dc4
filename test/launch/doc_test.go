// Package launch_test puts the same command lines and scripts under the real torchrun and under gangrun launch. Where
// torchrun does what its users rely on, both have to do the same; where it fails them, torchrun has to show the fault
// still and gangrun must not.
package launch_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// limit is many times what one run here takes on an idle machine.
const limit = 2 * time.Minute

// parallel lets the test run beside one other: each torchrun costs seconds of processor time before anything happens.
var parallel = harness.Turns(2)

// launcher is one of the two programs that are compared.
type launcher struct {
	name string
	argv []string
	env  []string
}

const (
	theirs = "torchrun"
	ours   = "gangrun"
)

func torchrun(t testing.TB) launcher {
	return launcher{name: theirs, argv: []string{harness.Peer(t, "torch/bin/torchrun")}, env: []string{python(t)}}
}

func gangrun(t testing.TB) launcher {
	return launcher{ours, []string{harness.Binary(t), "launch"}, []string{"GANGRUN_RESTART_BACKOFF=1ms:1ms", python(t)}}
}

// python is the variable with which both are told the Python of the workers.
func python(t testing.TB) string { return "PYTHON_EXEC=" + harness.Peer(t, "torch/bin/python3") }

// job is one run of a launcher. "{dir}" in a flag, an argument or a variable is the run's own directory.
type job struct {
	flags  []string
	script string
	args   []string
	env    []string
}

// started is a launcher that runs. Dir is the run's own directory.
type started struct {
	*harness.Process
	t   *testing.T
	dir string
}

// start starts a job in its own directory. Everything that it leaves behind is killed when the test ends.
func (l launcher) start(t *testing.T, j job) *started {
	t.Helper()
	return l.startIn(t, directory(t), j)
}

// directory is a directory with a short name, since a test's own may be too long for a socket in it.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "launch-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (l launcher) startIn(t *testing.T, dir string, j job) *started {
	t.Helper()
	for _, sub := range []string{"tmp", "cwd", "probe"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	stdin := filepath.Join(dir, "stdin")
	if err := os.WriteFile(stdin, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("{dir}", dir, "{python}", harness.Peer(t, "torch/bin/python3"))
	env := []string{harness.Mark(dir), "TMPDIR=" + dir + "/tmp", "PROBE_DIR=" + dir + "/probe"}
	for _, v := range append(l.env, j.env...) {
		env = append(env, fill.Replace(v))
	}
	const shell = `cd "$1" && exec <"$2" && shift 2 && exec "$@"`
	argv := append([]string{"/bin/sh", "-c", shell, "sh", dir + "/cwd", stdin}, l.argv...)
	for _, a := range append(append(append([]string(nil), j.flags...), j.script), j.args...) {
		argv = append(argv, fill.Replace(a))
	}
	s := &started{harness.Start(t, limit, env, argv...), t, dir}
	t.Cleanup(func() {
		s.Signal(syscall.SIGKILL)
		harness.KillLeftovers(dir)
	})
	return s
}

// run runs a job to its end.
func (l launcher) run(t *testing.T, j job) (harness.Result, string) {
	t.Helper()
	s := l.start(t, j)
	return s.Wait(), s.dir
}

// read is a file's content, and empty where there is no file.
func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(raw)
}

// inode identifies a file on this machine.
func inode(info os.FileInfo) string {
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// freePort is a port that nobody has now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// both runs the check under torchrun and under gangrun.
func both(t *testing.T, check func(t *testing.T, l launcher)) {
	t.Helper()
	for _, l := range []func(testing.TB) launcher{torchrun, gangrun} {
		l := l(t)
		t.Run(l.name, func(t *testing.T) {
			parallel(t)
			check(t, l)
		})
	}
}

func TestMain(m *testing.M) {
	harness.ClearEnvironment()
	// Else torchrun keeps what it prints, and what the workers print that it forks for --run-path, until they end.
	os.Setenv("PYTHONUNBUFFERED", "1")
	os.Exit(m.Run())
}
