package systemd_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// machine is a container that systemd has started.
type machine struct {
	dir    string // where its root is mounted, for it alone
	cgroup string
	first  *exec.Cmd
	pid    string // of systemd
	out    bytes.Buffer
}

var (
	shared machine
	once   sync.Once
	failed error
)

// needMachine is the machine that all tests share.
func needMachine(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		harness.Missing(t, "root", "run the tests as root")
	}
	unshare := harness.Program(t, "unshare", "install util-linux")
	root, gangrun := harness.Peer(t, "systemd"), harness.Binary(t)
	once.Do(func() { failed = shared.start(unshare, root, gangrun) })
	if failed != nil {
		t.Fatalf("systemd does not start: %v\n%s", failed, shared.out.String())
	}
	return &shared
}

func (m *machine) start(unshare, root, gangrun string) error {
	var err error
	if m.dir, err = os.MkdirTemp("", "gangrun-systemd-"); err != nil {
		return err
	}
	if m.cgroup, err = newCgroup(); err != nil {
		return err
	}
	m.first = exec.Command("sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, m.cgroup,
		unshare, "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--fork", "--kill-child=KILL", "sh", "-c", boot,
		root, m.dir, gangrun, filepath.Join(harness.Root(), "examples", "systemd", "gangrun@.service"))
	m.first.Stdout, m.first.Stderr = &m.out, &m.out
	if err := m.first.Start(); err != nil {
		return err
	}
	pid := m.first.Process.Pid
	return harness.Until(time.Minute, "a system that runs", func() bool {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if m.pid = strings.TrimSpace(string(children)); m.pid == "" {
			return false
		}
		out, _ := m.command("systemctl", "is-system-running").Output()
		return strings.TrimSpace(string(out)) == "running"
	})
}

// newCgroup makes a control group, which is the top of all that the machine knows.
func newCgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); fields[2] == "cgroup2" {
			return os.MkdirTemp(fields[1], "gangrun-systemd-")
		}
	}
	return "", errors.New("no cgroup2 file system is mounted")
}

// stop ends systemd, and with it everything in its process namespace.
func (m *machine) stop() {
	if m.first != nil && m.first.Process != nil {
		_ = m.first.Process.Kill()
		_ = m.first.Wait()
	}
	if m.cgroup != "" {
		_ = harness.Until(time.Minute, "no process of the machine", func() bool { removeCgroup(m.cgroup); _, err := os.Stat(m.cgroup); return err != nil })
	}
	if m.dir != "" {
		_ = os.Remove(m.dir)
	}
}

// removeCgroup removes a control group and those within it, as far as they are empty.
func removeCgroup(dir string) {
	within, _ := filepath.Glob(dir + "/*/cgroup.procs")
	for _, procs := range within {
		removeCgroup(filepath.Dir(procs))
	}
	_ = os.Remove(dir)
}

// command runs in the machine.
func (m *machine) command(argv ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--target", m.pid, "--all", "--"}, argv...)...)
}

// path is a file of the machine, seen from outside.
func (m *machine) path(name string) string { return "/proc/" + m.pid + "/root" + name }

// boot makes the root filesystem, which is forgotten at the end, and starts systemd in it. The kernel's own settings are
// not the machine's to change.
const boot = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" "$1/root"
cp "$2" "$1/root/usr/local/bin/gangrun"
cd "$1/root"
mkdir -p etc/gangrun etc/systemd/system/gangrun@.service.d
cp "$3" etc/systemd/system/
echo box >etc/hostname
printf '[Service]\nRestartSec=100ms\nWatchdogSec=5s\nTimeoutAbortSec=1s\n' >etc/systemd/system/gangrun@.service.d/test.conf
ln -s /dev/null etc/systemd/system/systemd-modules-load.service
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom; do
	: >dev/$device
	mount --bind /dev/$device dev/$device
done
mkdir dev/shm
mount -t tmpfs tmpfs run
pivot_root . mnt
umount -l /mnt
exec env -i container=test PATH=/usr/local/bin:/usr/bin:/usr/sbin /usr/lib/systemd/systemd --unit=basic.target --show-status=false </dev/null`
