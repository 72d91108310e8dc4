// Package harness is what the end-to-end tests share: the binary under test, the pieces of the machine that they
// need, and a bounded way to run a program to its end.
package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
)

// Root is the repository's root directory.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Cache is the directory that test/peers fills with the real programs that tests run: $GANGRUN_TEST_CACHE, or
// gangrun-test in the user's cache directory.
func Cache() string {
	if dir := os.Getenv("GANGRUN_TEST_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "gangrun-test")
}

// Missing says that something which the test needs is not on this machine, and what brings it. In CI that is a failure: a
// test that silently did not run is not a test. On a developer's machine the test is skipped, and test/summary tells.
func Missing(t testing.TB, what, remedy string) {
	t.Helper()
	if os.Getenv("CI") != "" || os.Getenv("GANGRUN_TEST_REQUIRE") != "" {
		t.Fatalf("%s is missing: %s", what, remedy)
	}
	t.Skipf("%s is missing: %s", what, remedy)
}

// Brief reports whether tests are to take a few minutes, compiling included: make test on somebody's machine. In CI, and where
// everything is asked for, they take what they need.
func Brief() bool {
	return testing.Short() && os.Getenv("CI")+os.Getenv("GANGRUN_TEST_REQUIRE")+os.Getenv("GANGRUN_TEST_LONG") == ""
}

// Costly skips a test that takes many seconds of a processor where they are to be Brief.
func Costly(t testing.TB) {
	t.Helper()
	if Brief() {
		t.Skip("takes many seconds of a processor: make test-long")
	}
}

// Program finds a program on PATH, or ends the test as Missing does.
func Program(t testing.TB, name, remedy string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name, remedy)
	}
	return path
}

var build = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("GANGRUN_BINARY"); bin != "" {
		return filepath.Abs(bin)
	}
	return buildOnce(filepath.Join(Cache(), "bin"))
})

// buildOnce builds gangrun into dir and returns its path. One test process after the other does so, at the same place, where
// go links it only if it has changed; to those that run it meanwhile it is replaced at once.
func buildOnce(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", os.NewSyscallError("flock", err)
	}
	built, bin := filepath.Join(dir, "built"), filepath.Join(dir, "gangrun")
	// As it is shipped, but without -trimpath, with which everything would be compiled once more: the unit tests have not.
	cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", built, "./cmd/gangrun")
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New("go build: " + string(out))
	}
	fresh := bin + ".fresh"
	_ = os.Remove(fresh) // left by a process that was killed here
	if err := os.Link(built, fresh); err != nil {
		return "", err
	}
	return bin, os.Rename(fresh, bin)
}

// Binary is the gangrun under test: $GANGRUN_BINARY, or one built from this tree once per test process.
func Binary(t testing.TB) string {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// Script is the path of a script in the testdata of the test's package.
func Script(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// PIDNamespace returns argv with the prefix that makes its first program PID 1 of a new PID namespace with its own
// /proc. It ends the test as Missing does where that is not allowed.
func PIDNamespace(t testing.TB, argv ...string) []string {
	t.Helper()
	unshare := Program(t, "unshare", "install util-linux")
	prefix := []string{unshare, "--pid", "--fork", "--mount-proc", "--kill-child=KILL"}
	if os.Geteuid() != 0 {
		prefix = append(prefix, "--user", "--map-root-user")
	}
	if err := exec.Command(unshare, append(prefix[1:], "--", "true")...).Run(); err != nil {
		Missing(t, "a new PID namespace", "run the tests as root or allow user namespaces")
	}
	return append(append(prefix, "--"), argv...)
}

// Result is how a program ended. Code is 128+n when signal n killed it.
type Result struct {
	Code           int
	Stdout, Stderr string
	Took           time.Duration
}

// Run runs argv to its end with env added to the environment, and fails the test if it takes longer than limit.
func Run(t testing.TB, limit time.Duration, env []string, argv ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	res := Result{Stdout: stdout.String(), Stderr: stderr.String(), Took: time.Since(start)}
	if ctx.Err() != nil {
		t.Fatalf("%q still ran after %v\nstdout:\n%s\nstderr:\n%s", argv, limit, res.Stdout, res.Stderr)
	}
	if cmd.ProcessState == nil {
		t.Fatalf("%q: %v", argv, err)
	}
	res.Code = Code(cmd.ProcessState)
	return res
}

// Code is the exit code of a finished process as a shell reports it: 128+n for a death by signal n.
func Code(state *os.ProcessState) int {
	if ws := state.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

// Message reads the termination message that gangrun left in file.
func Message(t testing.TB, file string) exitcodes.Message {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := exitcodes.ParseMessage(raw)
	if err != nil {
		t.Fatalf("%s: %v\n%q", file, err, raw)
	}
	return msg
}
