package run_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// kernelLog wants a kernel's log that can be written to, and a mount namespace, which there is none of in a plain chroot.
func kernelLog(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil || os.Geteuid() != 0 {
		harness.Missing(t, "/dev/kmsg and root", "run the tests as root where the kernel's log can be written to")
		return
	}
	log.Close()
	unshare := exec.Command(harness.Program(t, "unshare", "install util-linux"), "--mount", "--propagation", "private", "true")
	if out, err := unshare.CombinedOutput(); err != nil {
		harness.Missing(t, "a mount of its own", "run the tests as root where / is a mount: "+strings.TrimSpace(string(out)))
	}
}

// TestXid has the GPU's driver log that it has lost the GPU, in a mount namespace in which there is one: whatever the worker
// exits with, the node is sick, and another may do better.
func TestXid(t *testing.T) {
	kernelLog(t)
	const say = `echo "<3>NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus (a test)" >/dev/kmsg; `
	for name, gangrun := range map[string]string{
		"exit 1":  `"$GANGRUN" run --max-restarts 2 --termination-log "$LOG" -- sh -c '` + say + `exit 1'`,
		"SIGABRT": `"$GANGRUN" run --max-restarts 0 --termination-log "$LOG" -- sh -c '` + say + `kill -ABRT $$'`,
		"local":   `"$GANGRUN" local -n 2 --termination-log "$LOG" -- sh -c '[ $RANK = 0 ] || exec sleep 60; ` + say + `exit 1'`,
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			cmd := exec.Command(harness.Program(t, "unshare", "install util-linux"), "--mount", "--propagation", "private", "sh", "-c",
				`mount -t tmpfs none /proc/driver && mkdir -p /proc/driver/nvidia/gpus/0000:3b:00.0 && exec `+gangrun)
			cmd.Env = append(os.Environ(), "GANGRUN="+harness.Binary(t), "LOG="+log)
			out, _ := cmd.CombinedOutput()
			m := harness.Message(t, log)
			if harness.Code(cmd.ProcessState) != 214 || m.Reason != "NodeUnhealthy" || !strings.Contains(m.Message, "Xid 79 on GPU 0000:3b:00") {
				t.Errorf("exits with %d: %+v\n%s", harness.Code(cmd.ProcessState), m, out)
			}
		})
	}
}

// TestPreflightXid has the driver log that a GPU was lost a moment before the start.
func TestPreflightXid(t *testing.T) {
	kernelLog(t)
	for name, tt := range map[string]struct {
		xid  string
		code int
	}{"a GPU is lost": {"79", 214}, "a program's fault": {"31", 0}} {
		t.Run(name, func(t *testing.T) {
			address := "0000:" + map[string]string{"79": "5e", "31": "5f"}[tt.xid] + ":00"
			log := filepath.Join(t.TempDir(), "log")
			cmd := exec.Command(harness.Program(t, "unshare", "install util-linux"), "--mount", "--propagation", "private", "sh", "-c",
				`mount -t tmpfs none /proc/driver && mkdir -p /proc/driver/nvidia/gpus/`+address+`.0 &&
				echo "<3>NVRM: Xid (PCI:`+address+`): `+tt.xid+`, pid=1, a test" >/dev/kmsg &&
				exec "$GANGRUN" run --preflight --termination-log "$LOG" -- true`)
			cmd.Env = append(os.Environ(), "GANGRUN="+harness.Binary(t), "LOG="+log)
			out, _ := cmd.CombinedOutput()
			says := "Xid " + tt.xid + " on GPU " + address
			if harness.Code(cmd.ProcessState) != tt.code || !strings.Contains(string(out), says) {
				t.Errorf("exits with %d, want %d, and %q:\n%s", harness.Code(cmd.ProcessState), tt.code, says, out)
			}
		})
	}
}
