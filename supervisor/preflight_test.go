package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/supervisor/preflight"
)

// TestNetworkLinks reads a tree as /sys/class/net is one.
func TestNetworkLinks(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"lo/flags": "0x9\n", "lo/carrier": "1\n",
		"eth0/flags": "0x1003\n", "eth0/carrier": "1\n", "eth0/device/vendor": "0x15b3\n",
		"ib0/flags": "0x1003\n", "ib0/carrier": "0\n", "ib0/device/vendor": "0x15b3\n",
		"eth1/flags": "0x1002\n", "eth1/device/vendor": "0x15b3\n", // its carrier cannot be read
		"bonding_masters": "bond0\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []preflight.Link{
		{Name: "eth0", Enabled: true, Carrier: true, Real: true}, {Name: "eth1", Real: true},
		{Name: "ib0", Enabled: true, Real: true}, {Name: "lo", Enabled: true, Carrier: true},
	}
	if got := networkLinks(dir); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := networkLinks(filepath.Join(dir, "none")); got != nil {
		t.Errorf("%+v of what is not there", got)
	}
}

// TestTryOut leaves nothing behind in a directory that takes files, and tells one that is not there from one that fails.
func TestTryOut(t *testing.T) {
	dir := t.TempDir()
	d := tryOut(dir)
	if !d.Made || d.Error != "" || d.Size == 0 || d.Latency <= 0 {
		t.Errorf("%+v", d)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("it has left %v", left)
	}
	if d := tryOut(filepath.Join(dir, "none")); d.Made || d.Error != "" {
		t.Errorf("%+v", d)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d := tryOut(file); d.Failure != preflight.FailureDenied {
		t.Errorf("%+v", d)
	}
}

func TestFailureKind(t *testing.T) {
	for errno, want := range map[unix.Errno]preflight.Failure{
		unix.ENOSPC: preflight.FailureFull, unix.EDQUOT: preflight.FailureFull,
		unix.EIO: preflight.FailureBroken, unix.ESTALE: preflight.FailureBroken, unix.ESHUTDOWN: preflight.FailureBroken,
		unix.ENOTCONN: preflight.FailureBroken,
		unix.EACCES:   preflight.FailureDenied, unix.EROFS: preflight.FailureDenied, unix.ENOTDIR: preflight.FailureDenied,
	} {
		if got := failureKind(fmt.Errorf("x: %w", &fs.PathError{Op: "write", Path: "x", Err: errno})); got != want {
			t.Errorf("%v is %s, want %s", errno, got, want)
		}
	}
}

// TestReach tells a store that answers from one that does not listen and a name that is unknown.
func TestReach(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	if r := reach(context.Background(), at); r.Refused || r.Unknown != "" || r.Error != "" {
		t.Errorf("%+v", r)
	}
	l.Close()
	if r := reach(context.Background(), at); !r.Refused {
		t.Errorf("%+v", r)
	}
	if r := reach(context.Background(), "no-such-host.invalid:1"); r.Unknown == "" {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := reach(ctx, at); r.Error == "" && r.Unknown == "" {
		t.Errorf("%+v", r)
	}
}

// TestUnstarted: a program that is not there is not one that does not work.
func TestUnstarted(t *testing.T) {
	if out := unstarted(errors.New("x"), 1); out.Absent || out.Err == nil {
		t.Errorf("%+v", out)
	}
	if out := unstarted(task.ErrLate, 1); out.Late != 1 {
		t.Errorf("%+v", out)
	}
}
