package image_test

import (
	"testing"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/oci"
)

// box is a container of an image, as a kubelet asks for it.
type box struct {
	image    *image
	command  []string // in place of the image's ENTRYPOINT and CMD
	args     []string // in place of its CMD
	user     int      // and group
	writable bool     // the root filesystem
	mounts   []oci.Mount
	noLog    bool   // no /dev/termination-log
	pids     string // the PID namespace to be in; its own if empty
}

// container is the container that was not started yet.
func (b box) container(t *testing.T) *oci.Container {
	t.Helper()
	env := b.image.Config.Env
	if len(env) == 0 {
		env = []string{oci.Path} // the runtimes' own
	}
	return oci.New(t, oci.Spec{
		Root: b.image.root, ReadOnly: !b.writable, Mounts: b.mounts, User: b.user, Args: b.argv(), Env: env, NoGain: true,
		Namespaces: map[string]string{"pid": b.pids},
	}, b.noLog)
}

// start starts the container.
func (b box) start(t *testing.T) *oci.Up {
	t.Helper()
	return b.container(t).Start(t, limit)
}

// run runs the container to its end.
func (b box) run(t *testing.T) harness.Ended {
	t.Helper()
	return end(t, b.start(t))
}

// background starts the container and leaves it alone; pid is that of its first process, outside.
func (b box) background(t *testing.T) (pid string) {
	t.Helper()
	return b.container(t).Background(t)
}

// end waits for the end of the container, whose message has to tell the exit code.
func end(t *testing.T, c *oci.Up) harness.Ended {
	t.Helper()
	e := c.End(t)
	if len(e.Raw) > 0 && e.ExitCode != e.Code {
		t.Errorf("exit code %d, but the message says %d:\n%s\n%s", e.Code, e.ExitCode, e.Raw, e.Stderr)
	}
	return e
}

// argv is what Kubernetes makes of command, args and the image's own.
func (b box) argv() []string {
	entrypoint, args := b.image.Config.Entrypoint, b.image.Config.Cmd
	if b.command != nil {
		entrypoint, args = b.command, nil
	}
	if b.args != nil {
		args = b.args
	}
	return append(append([]string{}, entrypoint...), args...)
}
