package supervisor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/supervisor/preflight"
	"github.com/gangrun/gangrun/supervisor/process"
)

// TestMain lets the test binary be the program that tries a directory out.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == ProbeCommand {
		ProbeDirectory(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// newTestChildren are children of the test process, to which their ends are told while the test runs.
func newTestChildren(t *testing.T) *children {
	t.Helper()
	c := newChildren(theReaper(t))
	over, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(over); <-done })
	crash.Go(func() {
		defer close(done)
		for {
			select {
			case ev := <-c.reaper.Events():
				if ev.Ended() {
					c.ended(ev.PID, statusOf(ev.Status))
				}
			case <-over:
				return
			}
		}
	})
	return c
}

// TestChildrenStopWhileForking: a fork that does not come back holds up nobody, and what it brings later is killed.
func TestChildrenStopWhileForking(t *testing.T) {
	c := newTestChildren(t)
	forking, held := make(chan struct{}), make(chan struct{})
	c.fork = func(spec process.Spec) (int, error) {
		close(forking)
		<-held
		return c.reaper.Start(spec)
	}
	outs := make(chan preflight.Output)
	crash.Go(func() { outs <- c.run([]string{"sleep", "1000"}, os.Environ(), "/", time.Minute) })
	<-forking
	stopped := make(chan struct{})
	crash.Go(func() {
		c.stop()
		c.ended(1, exitcodes.Status{})
		close(stopped)
	})
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for a fork")
	}
	close(held)
	if out := <-outs; out.Status.Signal != 9 || out.Late > 0 {
		t.Errorf("%+v", out)
	}
	if _, _, err := c.start(process.Spec{}); err != errOver {
		t.Error(err)
	}
}

// TestChildrenEndBeforeForked: an end may be told before the fork has come back.
func TestChildrenEndBeforeForked(t *testing.T) {
	c := newChildren(theReaper(t))
	c.fork = func(process.Spec) (int, error) {
		c.ended(7, exitcodes.Status{Code: 3})
		c.ended(8, exitcodes.Status{})
		return 7, nil
	}
	_, end, err := c.start(process.Spec{})
	if err != nil || len(end) != 1 || (<-end).Code != 3 || len(c.early)+len(c.ends) > 0 {
		t.Errorf("%v, %v, %v", err, c.early, c.ends)
	}
}

// TestProbesWithoutDirectory: of the probes only a command of one's own needs the directory in which gangrun was
// started, and it is not forked where that cannot be entered.
func TestProbesWithoutDirectory(t *testing.T) {
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "nvidia-smi"), []byte("#!/bin/sh\nexit 9\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	// GOCOVERDIR: under go test -cover the probes, which are this test's program, would else complain on stderr.
	env := []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "GOCOVERDIR=" + t.TempDir()}
	e := &examiner{children: newTestChildren(t), Preflight: Preflight{
		Timeout: 10 * time.Second, Env: env,
		Dir: filepath.Join(t.TempDir(), "gone"), Command: []string{"true"},
	}}
	e.children.fork = func(spec process.Spec) (int, error) {
		if spec.Dir != "/" {
			t.Errorf("%q is started in %s", spec.Argv, spec.Dir)
		}
		return e.children.reaper.Start(spec)
	}
	if out := e.run(e.Timeout, anywhere, "nvidia-smi", "-q", "-x"); out.Status.Code != 9 {
		t.Errorf("%+v", out)
	}
	if r := e.lookAtDirectory("disk", t.TempDir()); r.State != preflight.OK {
		t.Error(r)
	}
	if r := e.lookAtDirectory("disk", "not/made"); r.State != preflight.OK {
		t.Error(r)
	}
	if r := e.lookAtGPUs(); r.State == preflight.Note {
		t.Error(r)
	}
	if out := e.run(e.Timeout, e.Dir, e.Command...); out.Err == nil || out.Absent || out.Late > 0 {
		t.Errorf("%+v", out)
	}
}
