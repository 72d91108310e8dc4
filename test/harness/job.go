package harness

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// Job is one gangrun run: its flags, what is added to its environment, and what it supervises. Its termination log is
// a file that the test reads afterwards.
type Job struct {
	Verb   string // run, when empty
	Flags  []string
	Env    []string
	Worker []string
}

// Running is a job that was started.
type Running struct {
	*Process
	Log string // the termination log
}

// Ended is how a job ended.
type Ended struct {
	Result
	exitcodes.Message
	Raw []byte // the termination log as it is
}

// Start starts the job, which fails the test if it still runs after limit.
func (j Job) Start(t testing.TB, limit time.Duration) *Running {
	t.Helper()
	log := filepath.Join(t.TempDir(), "termination-log")
	verb := cmp.Or(j.Verb, "run")
	argv := append([]string{Binary(t), verb, "--termination-log", log}, j.Flags...)
	if verb == "run" {
		argv = append(argv, "--")
	}
	argv = append(argv, j.Worker...)
	return &Running{Start(t, limit, j.Env, argv...), log}
}

// Run runs the job to its end.
func (j Job) Run(t testing.TB, limit time.Duration) Ended {
	t.Helper()
	return j.Start(t, limit).End()
}

// End waits for the end and reads the message that was left behind, which has to tell the exit code.
func (r *Running) End() Ended {
	r.t.Helper()
	e := Ended{Result: r.Wait()}
	var err error
	if e.Raw, err = os.ReadFile(r.Log); err != nil {
		r.t.Fatal(err)
	}
	e.Message = Message(r.t, r.Log)
	if e.ExitCode != e.Code {
		r.t.Errorf("exit code %d, but the message says %d:\n%s\n%s", e.Code, e.ExitCode, e.Raw, e.Stderr)
	}
	return e
}

// Shell is the command line of a shell script.
func Shell(script string, args ...string) []string {
	return append([]string{"/bin/sh", "-c", script, "sh"}, args...)
}

// Want ends the test unless the job ended like that, and shows all of it then.
func (e Ended) Want(t testing.TB, code int, verdict exitcodes.Verdict, reason string) {
	t.Helper()
	if e.Code != code || e.Verdict != verdict || e.Reason != reason {
		t.Fatalf("exit code %d, %s, %s; want %d, %s, %s\n%s\n%s", e.Code, e.Verdict, e.Reason, code, verdict, reason, e.Raw, e.Stderr)
	}
}
