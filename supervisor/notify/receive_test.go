package notify

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDescriptorsAreNotTaken: a report may carry open files, as sd_notify's FDSTORE=1 does. gangrun keeps none of them, or a
// worker could use up all that it may have, and hold pipes open that are closed elsewhere.
func TestDescriptorsAreNotTaken(t *testing.T) {
	for name, stamps := range map[string]bool{"with the kernel's timestamps": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			e := ears(t, make(chan struct{}, 1))
			s, err := e.Listen(filepath.Join(t.TempDir(), "notify"))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if !stamps {
				if err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 0); err != nil {
					t.Fatal(err)
				}
				s.stamps = false
			}
			out, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			sendWith(t, s.Path, "FDSTORE=1\nX_GANGRUN_STEP=3", int(in.Fd()))
			in.Close()
			if step, known := stepOf(s); step != 3 || !known {
				t.Errorf("step %d, %v", step, known)
			}
			_ = out.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := out.Read(make([]byte, 1)); os.IsTimeout(err) {
				t.Error("the writing end of the worker's pipe is still open")
			}
		})
	}
}

// sendWith sends a report and an open file.
func sendWith(t *testing.T, path, datagram string, file int) {
	t.Helper()
	from, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(from)
	if err := unix.Sendmsg(from, []byte(datagram), unix.UnixRights(file), &unix.SockaddrUnix{Name: path}, 0); err != nil {
		t.Fatal(err)
	}
}
