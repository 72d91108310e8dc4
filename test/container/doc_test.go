// Package container_test runs gangrun where it is made for: as the first process of a container that runc starts, with
// a memory limit, and with the termination log as the kubelet mounts it. Only root can run these tests.
package container_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// limit is far more than any container here takes.
const limit = 60 * time.Second

// box is a container to run: a root filesystem of a small Debian, which is read-only, and gangrun in it.
type box struct {
	memory   int64    // limit in bytes; 0 for none
	user     int      // uid and gid
	noLog    bool     // no /dev/termination-log
	env      []string // added
	flags    []string // of gangrun run
	worker   []string
	oomScore int // of the first process; children inherit it
}

// up is a container that runs.
type up struct {
	*harness.Process
	id  string
	log string // the termination log, outside
}

// start starts the container. It is removed when the test ends.
func (b box) start(t *testing.T) *up {
	t.Helper()
	if os.Geteuid() != 0 {
		harness.Missing(t, "root", "run the tests as root")
	}
	runc := harness.Program(t, "runc", "make peers")
	root := harness.Peer(t, "rootfs")
	dir := t.TempDir()
	log := filepath.Join(dir, "termination-log")
	// As the kubelet makes it: empty, and writable for whatever user the container has.
	if err := os.WriteFile(log, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(log, 0o666); err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprintf("gangrun-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	config, err := json.MarshalIndent(b.spec(harness.Binary(t), root, log, id), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	state := "--root=" + filepath.Join(dir, "state")
	t.Cleanup(func() {
		_ = exec.Command(runc, state, "delete", "--force", id).Run() // it is gone already when all went well
	})
	return &up{harness.Start(t, limit, nil, runc, state, "run", "--bundle", dir, id), id, log}
}

// run runs the container to its end.
func (b box) run(t *testing.T) harness.Ended {
	t.Helper()
	return b.start(t).end(t)
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
	}
	return e
}

type object = map[string]any

// spec is the container's configuration (OCI runtime specification 1.0).
func (b box) spec(bin, root, log, id string) object {
	mounts := []object{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755", "size=65536k"}},
		{"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666"}},
		{"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": []string{"nosuid", "nodev", "mode=1777", "size=65536k"}},
		{"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
		{"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
		{"destination": "/gangrun", "type": "bind", "source": bin, "options": []string{"bind", "ro"}},
	}
	if !b.noLog {
		mounts = append(mounts, object{"destination": "/dev/termination-log", "type": "bind", "source": log, "options": []string{"bind", "rw"}})
	}
	resources := object{}
	if b.memory > 0 {
		resources["memory"] = object{"limit": b.memory, "swap": b.memory}
	}
	argv := append(append([]string{"/gangrun", "run"}, b.flags...), "--")
	return object{
		"ociVersion": "1.0.2",
		"hostname":   "box",
		"root":       object{"path": root, "readonly": true},
		"mounts":     mounts,
		"process": object{
			"user":            object{"uid": b.user, "gid": b.user},
			"args":            append(argv, b.worker...),
			"env":             append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, b.env...),
			"cwd":             "/",
			"noNewPrivileges": true,
			"oomScoreAdj":     b.oomScore,
		},
		"linux": object{
			"cgroupsPath": "/" + id,
			"resources":   resources,
			"namespaces": []object{
				{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "network"},
			},
		},
	}
}

// cgroup is the folder of the container's memory cgroup, and whether it is of version 2.
func (c *up) cgroup(t *testing.T) (dir string, v2 bool) {
	t.Helper()
	for _, at := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		dir := filepath.Join(at, c.id)
		if _, err := os.Stat(dir); err == nil {
			return dir, !strings.HasSuffix(at, "memory")
		}
	}
	t.Fatalf("no memory cgroup of the container %s", c.id)
	return "", false
}
