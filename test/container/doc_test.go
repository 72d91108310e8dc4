// Package container_test runs gangrun where it is made for: as the first process of a container that runc starts, with
// a memory limit, with the termination log as the kubelet mounts it, without capabilities, and with the system calls
// that container runtimes allow by themselves. Only root can run these tests.
package container_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/oci"
)

// limit is far more than any container here takes.
const limit = 60 * time.Second

// box is a container to run: a root filesystem of a small Debian, which is read-only, and gangrun in it.
type box struct {
	memory   int64    // limit in bytes; 0 for none
	user     int      // uid and gid
	noLog    bool     // no /dev/termination-log
	env      []string // added
	flags    []string // of gangrun
	launch   bool     // and not run
	tmp      bool     // a /tmp that can be written
	worker   []string
	oomScore int // of the first process; children inherit it
}

// start starts the container. It is removed when the test ends.
func (b box) start(t *testing.T) *oci.Up {
	t.Helper()
	if os.Geteuid() != 0 {
		harness.Missing(t, "root", "run the tests as root")
	}
	spec := oci.Spec{
		Root: harness.Peer(t, "rootfs"), ReadOnly: true, Mounts: []oci.Mount{{Host: harness.Binary(t), Path: "/gangrun", ReadOnly: true}},
		User: b.user, Memory: b.memory, OOMScore: b.oomScore, NoGain: true, Seccomp: true,
		Env:  append([]string{oci.Path}, b.env...),
		Args: slices.Concat([]string{"/gangrun", "run"}, b.flags, []string{"--"}, b.worker),
	}
	if b.launch {
		spec.Args = slices.Concat([]string{"/gangrun", "launch"}, b.flags, b.worker)
	}
	if b.tmp {
		spec.Mounts = append(spec.Mounts, oci.Mount{Path: "/tmp"})
	}
	return oci.New(t, spec, b.noLog).Start(t, limit)
}

// run runs the container to its end.
func (b box) run(t *testing.T) harness.Ended {
	t.Helper()
	return b.start(t).End(t)
}

// cgroup is the directory of the container's memory cgroup, and whether it is of version 2.
func cgroup(t *testing.T, c *oci.Up) (dir string, v2 bool) {
	t.Helper()
	for _, at := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		dir := filepath.Join(at, c.ID)
		if _, err := os.Stat(dir); err == nil {
			return dir, !strings.HasSuffix(at, "memory")
		}
	}
	t.Fatalf("no memory cgroup of the container %s", c.ID)
	return "", false
}
