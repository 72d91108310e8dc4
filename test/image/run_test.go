package image_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/oci"
)

// train is a training script in a few lines of python: it says who its parent is and what it was given, reports a step
// if it may, and fails with 7.
const train = `
import os, socket, sys
print("parent", os.getppid(), *open(f"/proc/{os.getppid()}/cmdline").read().split("\0")[:4])
path = os.environ.get("NOTIFY_SOCKET")
print("socket:", int(path is not None), "error file:", int("TORCHELASTIC_ERROR_FILE" in os.environ))
if path:
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"X_GANGRUN_STEP=12", path)
try:
    open("/canary", "w")
except OSError as e:
    print(e.strerror)
sys.exit(7)
`

// TestTrainingImage runs the image with gangrun as its entrypoint as various users, on a root filesystem that is
// read-only, with and without a /tmp that can be written to, and without the kubelet's file. The training's end is the
// container's, every time.
func TestTrainingImage(t *testing.T) {
	images := build(t)
	for _, user := range []int{0, 1000} {
		for _, tmp := range []bool{true, false} {
			for _, log := range []bool{true, false} {
				t.Run(fmt.Sprintf("user %d, tmp %v, log %v", user, tmp, log), func(t *testing.T) {
					t.Parallel()
					b := box{image: images.train, user: user, noLog: !log, args: []string{"python3", "-c", train}}
					given := "socket: 0 error file: 0"
					if tmp {
						b.mounts = []oci.Mount{{Host: volume(t), Path: "/tmp"}}
						given = "socket: 1 error file: 1"
					}
					e := b.run(t)
					for _, want := range []string{"parent 1 gangrun run -- python3\n", given, "Read-only file system"} {
						if !strings.Contains(e.Stdout, want) {
							t.Errorf("no %q in %q\n%s", want, e.Stdout, e.Stderr)
						}
					}
					if strings.Contains(e.Stderr, "level=WARN") {
						t.Errorf("it complains: %s", e.Stderr)
					}
					if !log {
						if e.Code != 7 || len(e.Raw) != 0 {
							t.Errorf("exit code %d, message %q\n%s", e.Code, e.Raw, e.Stderr)
						}
						return
					}
					e.Want(t, 7, exitcodes.Fatal, "Error")
					if (e.Step != nil) != tmp || tmp && *e.Step != 12 {
						t.Errorf("%s", e.Raw)
					}
				})
			}
		}
	}
}

// TestGangrunImage supervises in its own image, where there is nothing but gangrun: no user of that name, no /tmp.
func TestGangrunImage(t *testing.T) {
	own := build(t).own()
	tests := []struct {
		worker  string
		code    int
		verdict exitcodes.Verdict
		reason  string
	}{
		{"/gangrun", 0, exitcodes.Success, "Succeeded"},
		{"/nothing", 127, exitcodes.Fatal, "NotFound"},
	}
	for _, tt := range tests {
		for _, user := range []int{0, 1000, own.user(t)} {
			t.Run(fmt.Sprintf("%s, user %d", tt.worker, user), func(t *testing.T) {
				t.Parallel()
				e := box{image: own, user: user, args: []string{"run", "--", tt.worker, "--version"}}.run(t)
				e.Want(t, tt.code, tt.verdict, tt.reason)
				if tt.code == 0 && !strings.Contains(e.Stdout, version) {
					t.Errorf("%q", e.Stdout)
				}
			})
		}
	}
}

// TestStopped is the kubelet's SIGTERM, which goes to gangrun whether it is the first process or not.
func TestStopped(t *testing.T) {
	images := build(t)
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			t.Parallel()
			script := `trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done`
			b := box{image: images.train, user: 1000, args: harness.Shell(script)}
			if shared {
				b.pids = pause(t, images)
			}
			c := b.start(t)
			c.Await("ready")
			c.Signal(syscall.SIGTERM) // runc passes it on
			e := end(t, c)
			e.Want(t, 143, exitcodes.Preempted, "Preempted")
			if !strings.Contains(e.Stdout, "saved") {
				t.Errorf("%q", e.Stdout)
			}
		})
	}
}
