// Package local_test runs gangrun local as a person does who debugs a distributed training on one machine: with real
// frameworks that have to find each other, with a debugger on a real terminal, and with failures that are rehearsed.
// However a run ends, nothing of it may be left.
package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// limit is many times what one run here takes on an idle machine.
const limit = time.Minute

// heavy lets a test that loads a framework run beside the others, one at a time: each rank loads hundreds of megabytes.
var heavy = harness.Turns(1)

// job is one run of gangrun local. "{dir}" in a flag, a variable or an argument is the run's own directory, which is
// also its working directory.
type job struct {
	flags  []string
	env    []string
	worker []string
}

// run is a gangrun local that was started.
type run struct {
	*harness.Process
	t   *testing.T
	dir string
}

// result is how a run ended.
type result struct {
	harness.Result
	message exitcodes.Message
	dir     string
}

// directory makes a run's directory. Its name is short, since a test's own may be too long for a socket in it. Whatever
// still runs in it is killed when the test ends.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "local-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/tmp", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		harness.KillLeftovers(dir)
		os.RemoveAll(dir)
	})
	return dir
}

// argv is gangrun's whole command line.
func (j job) argv(t *testing.T, dir string) []string {
	t.Helper()
	argv := []string{harness.Binary(t), "local", "--termination-log", dir + "/message"}
	argv = append(append(append(argv, j.flags...), "--"), j.worker...)
	for i, word := range argv {
		argv[i] = strings.ReplaceAll(word, "{dir}", dir)
	}
	return argv
}

// environment is what is added for a run.
func (j job) environment(dir string) []string {
	env := []string{harness.Mark(dir), "TMPDIR=" + dir + "/tmp"}
	for _, v := range j.env {
		env = append(env, strings.ReplaceAll(v, "{dir}", dir))
	}
	return env
}

func (j job) start(t *testing.T) *run {
	t.Helper()
	dir := directory(t)
	inside := append([]string{"/bin/sh", "-c", `cd "$1" && shift && exec "$@"`, "sh", dir}, j.argv(t, dir)...)
	return &run{harness.Start(t, limit, j.environment(dir), inside...), t, dir}
}

// run runs the job to its end.
func (j job) run(t *testing.T) result {
	t.Helper()
	return j.start(t).end()
}

// end waits for the end, and wants nothing to be left and the message to tell the exit code.
func (r *run) end() result {
	r.t.Helper()
	res := result{Result: r.Wait(), dir: r.dir}
	gone(r.t, r.dir)
	res.message = harness.Message(r.t, r.dir+"/message")
	if res.message.ExitCode != res.Code {
		r.t.Errorf("exit code %d, but the message says %d", res.Code, res.message.ExitCode)
	}
	return res
}

// want ends the test unless the run ended with this code, and shows all of it then.
func (res result) want(t *testing.T, code int) {
	t.Helper()
	if res.Code != code {
		t.Fatalf("exit code %d, want %d\n%s\n%s", res.Code, code, res.Stdout, res.Stderr)
	}
}

// shell is the command line of a shell script, which every rank runs.
func shell(script string) []string { return []string{"/bin/sh", "-c", script} }

// python is the command line of a script in testdata.
func python(t *testing.T, name string, args ...string) []string {
	t.Helper()
	return append([]string{harness.Program(t, "python3", "install python3"), harness.Script(t, name)}, args...)
}

// lines are the lines of a text without their ends.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// gone wants nothing of the run of this directory to be alive: not in a moment, now. Nor are there any temporary files
// of gangrun's own.
func gone(t *testing.T, dir string) {
	t.Helper()
	for _, pid := range harness.Leftovers(dir) {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		t.Errorf("process %d outlives its run: %q", pid, command)
	}
	if left, _ := filepath.Glob(dir + "/tmp/gangrun*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestMain(m *testing.M) {
	harness.ClearEnvironment()
	os.Exit(m.Run())
}
