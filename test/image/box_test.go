package image_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// box is a container of an image, as a kubelet asks for it.
type box struct {
	image    *image
	command  []string // in place of the image's ENTRYPOINT and CMD
	args     []string // in place of its CMD
	user     int      // and group
	writable bool     // the root filesystem
	mounts   []mount
	noLog    bool   // no /dev/termination-log
	pids     string // the PID namespace to be in; its own if empty
}

type mount struct {
	from, to string
	readOnly bool
}

// up is a container that runs.
type up struct {
	*harness.Process
	log string // the termination log, outside
}

// bundle writes what runc needs to start the container, and removes the container when the test ends.
func (b box) bundle(t *testing.T) (runc []string, dir, id string) {
	t.Helper()
	dir = t.TempDir()
	log := filepath.Join(dir, "termination-log")
	// As the kubelet makes it: empty, and writable for whatever user the container has.
	if err := os.WriteFile(log, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(log, 0o666); err != nil {
		t.Fatal(err)
	}
	id = fmt.Sprintf("gangrun-image-%d-%d", os.Getpid(), time.Now().UnixNano())
	config, err := json.MarshalIndent(b.spec(log, id), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	runc = []string{"runc", "--root=" + filepath.Join(dir, "state")}
	t.Cleanup(func() {
		_ = exec.Command(runc[0], runc[1], "delete", "--force", id).Run() // it is gone already when all went well
	})
	return runc, dir, id
}

// start starts the container.
func (b box) start(t *testing.T) *up {
	t.Helper()
	runc, dir, id := b.bundle(t)
	return &up{harness.Start(t, limit, nil, append(runc, "run", "--bundle", dir, id)...), filepath.Join(dir, "termination-log")}
}

// run runs the container to its end.
func (b box) run(t *testing.T) harness.Ended {
	t.Helper()
	return b.start(t).end(t)
}

// background starts the container and leaves it alone; pid is that of its first process, outside.
func (b box) background(t *testing.T) (pid string) {
	t.Helper()
	runc, dir, id := b.bundle(t)
	file := filepath.Join(dir, "pid")
	// With no output: what keeps it would be waited for.
	if err := exec.Command(runc[0], runc[1], "run", "--detach", "--pid-file", file, "--bundle", dir, id).Run(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// end waits for the end of the container and reads what it left behind.
func (c *up) end(t *testing.T) harness.Ended {
	t.Helper()
	e := harness.Ended{Result: c.Wait()}
	raw, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	if e.Raw = raw; len(raw) > 0 {
		e.Message = harness.Message(t, c.log)
		if e.ExitCode != e.Code {
			t.Errorf("exit code %d, but the message says %d:\n%s\n%s", e.Code, e.ExitCode, e.Raw, e.Stderr)
		}
	}
	return e
}

type object = map[string]any

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

// spec is the container's configuration (OCI runtime specification 1.0).
func (b box) spec(log, id string) object {
	mounts := []object{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755", "size=65536k"}},
		{"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": []string{"nosuid", "nodev", "mode=1777", "size=65536k"}},
		{"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
		{"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
	}
	if !b.noLog {
		mounts = append(mounts, object{"destination": "/dev/termination-log", "type": "bind", "source": log, "options": []string{"bind", "rw"}})
	}
	for _, m := range b.mounts {
		mode := "rw"
		if m.readOnly {
			mode = "ro"
		}
		mounts = append(mounts, object{"destination": m.to, "type": "bind", "source": m.from, "options": []string{"bind", mode}})
	}
	pids := object{"type": "pid"}
	if b.pids != "" {
		pids["path"] = b.pids
	}
	env := b.image.Config.Env
	if len(env) == 0 {
		env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"} // the runtimes' own
	}
	return object{
		"ociVersion": "1.0.2",
		"hostname":   "box",
		"root":       object{"path": b.image.root, "readonly": !b.writable},
		"mounts":     mounts,
		"process": object{
			"user":            object{"uid": b.user, "gid": b.user},
			"args":            b.argv(),
			"env":             env,
			"cwd":             "/",
			"noNewPrivileges": true,
		},
		"linux": object{
			"cgroupsPath": "/" + id,
			"namespaces":  []object{pids, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "network"}},
		},
	}
}
