package oci

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// Log is where the termination log is in a container, unless it is told otherwise.
const Log = "/dev/termination-log"

// Container is what runc needs to start a container. It is removed when the test ends.
type Container struct {
	ID  string
	Log string // the termination log, outside
	dir string // the bundle
}

// New makes a container that was not started yet. It gets an ID, and a termination log unless it is to have none.
func New(t *testing.T, s Spec, noLog bool) *Container {
	t.Helper()
	harness.Program(t, "runc", "make peers")
	dir := t.TempDir()
	c := &Container{ID: fmt.Sprintf("gangrun-test-%d-%d", os.Getpid(), time.Now().UnixNano()), Log: filepath.Join(dir, "termination-log"), dir: dir}
	if err := MakeLog(c.Log); err != nil {
		t.Fatal(err)
	}
	s.ID = c.ID
	if !noLog {
		s.Mounts = append(s.Mounts[:len(s.Mounts):len(s.Mounts)], Mount{Host: c.Log, Path: Log})
	}
	config, err := s.JSON()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("runc", c.state(), "delete", "--force", c.ID).Run() // it is gone already when all went well
	})
	return c
}

// MakeLog makes a termination log as the kubelet does: empty, and writable for whatever user the container has.
func MakeLog(path string) error {
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		return err
	}
	return os.Chmod(path, 0o666)
}

func (c *Container) state() string { return "--root=" + filepath.Join(c.dir, "state") }

// Up is a container that runs.
type Up struct {
	*harness.Process
	*Container
}

// Start starts the container, which may run for so long.
func (c *Container) Start(t *testing.T, limit time.Duration) *Up {
	t.Helper()
	return &Up{harness.Start(t, limit, nil, "runc", c.state(), "run", "--bundle", c.dir, c.ID), c}
}

// Background starts the container and leaves it alone; pid is that of its first process, outside.
func (c *Container) Background(t *testing.T) (pid string) {
	t.Helper()
	file := filepath.Join(c.dir, "pid")
	// With no output: what keeps it would be waited for.
	if err := exec.Command("runc", c.state(), "run", "--detach", "--pid-file", file, "--bundle", c.dir, c.ID).Run(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// End waits for the end of the container and reads what it left behind.
func (u *Up) End(t *testing.T) harness.Ended {
	t.Helper()
	e := harness.Ended{Result: u.Wait()}
	raw, err := os.ReadFile(u.Log)
	if err != nil {
		t.Fatal(err)
	}
	if e.Raw = raw; len(raw) > 0 {
		e.Message = harness.Message(t, u.Log)
	}
	return e
}
