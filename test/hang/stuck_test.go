package hang_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// silentServer mounts a file system whose server takes every request and answers none but the first, which makes the mount
// ready: whoever asks for anything sleeps in the kernel, and not even SIGKILL wakes it. At the end of the test, or when the
// returned function is called, the connection is aborted, and all wake.
func silentServer(t *testing.T) (dir string, abort func()) {
	t.Helper()
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil || os.Geteuid() != 0 {
		harness.Missing(t, "/dev/fuse and root", "run the tests as root, with the kernel's fuse module")
	}
	dir = t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)
	if err := syscall.Mount("silent", dir, "fuse", 0, options); err != nil {
		syscall.Close(fd)
		harness.Missing(t, "a FUSE mount ("+err.Error()+")", "run the tests where mounts are allowed")
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for buf := make([]byte, 1<<20); ; {
			n, err := syscall.Read(fd, buf)
			if err == syscall.EINTR || err == syscall.ENOENT {
				continue
			}
			if err != nil {
				return // the connection is aborted
			}
			const initRequest, headSize, replySize = 26, 16, 64
			if n < 16 || binary.NativeEndian.Uint32(buf[4:]) != initRequest {
				continue
			}
			reply := make([]byte, headSize+replySize)
			binary.NativeEndian.PutUint32(reply, uint32(len(reply)))
			copy(reply[8:16], buf[8:16])                                // which request it is
			binary.NativeEndian.PutUint32(reply[headSize:], 7)          // the protocol's version
			binary.NativeEndian.PutUint32(reply[headSize+4:], 31)       //
			binary.NativeEndian.PutUint32(reply[headSize+20:], 128<<10) // the longest write
			if _, err := syscall.Write(fd, reply); err != nil {
				return
			}
		}
	}()
	abort = sync.OnceFunc(func() {
		if err := syscall.Unmount(dir, syscall.MNT_FORCE|syscall.MNT_DETACH); err != nil { // aborts the connection
			t.Error(err)
		}
		<-served
		syscall.Close(fd)
	})
	t.Cleanup(abort)
	return dir, abort
}

// TestCannotDie: a rank hangs where nothing wakes it, not even SIGKILL. Nothing is restarted there, as what the rank holds
// is not given back: the node exits with 214, to be replaced.
func TestCannotDie(t *testing.T) {
	long(t)
	mount, abort := silentServer(t)
	parallel(t)
	dir := t.TempDir()
	script := harness.Script(t, "gang.py")
	log := filepath.Join(dir, "message")
	p := harness.Start(t, limit, []string{"OMP_NUM_THREADS=1", "STUCK=" + filepath.Join(mount, "file")}, harness.Binary(t), "local", "-n", "4",
		"--termination-log", log, "--log-dir", dir, "--hang-timeout", "3s", "--max-restarts", "3", "--",
		harness.Peer(t, "torch/bin/python3"), script, "dead", "told")
	res := p.Wait() // although the rank is still there
	e := ended{res, harness.Message(t, log), dir}
	e.says(t, 214, exitcodes.ReasonNodeUnhealthy, "rank 2 made no progress", "sleeps in the kernel where nothing wakes it", "stuck in the kernel in spite of SIGKILL")
	if strings.Contains(e.Stderr, "msg=restarted") {
		t.Error(e.Stderr)
	}
	abort()
}

// TestCannotDieElsewhere: the other node does not wait for one of which a rank cannot die. It goes on alone, from the checkpoint.
func TestCannotDieElsewhere(t *testing.T) {
	long(t)
	mount, abort := silentServer(t)
	dir := t.TempDir()
	nodes := runOnNodes(t, "dead", "told", []string{"STUCK=" + filepath.Join(mount, "file"), "CHECKPOINTS=" + dir},
		"--nnodes", "1:2", "--hang-timeout", "3s", "--max-restarts", "3", "--checkpoint-dir", dir, "--checkpoint-pattern", "step-*.pt")
	nodes[1].says(t, 214, exitcodes.ReasonNodeUnhealthy, "rank 2 made no progress", "sleeps in the kernel where nothing wakes it")
	if strings.Contains(nodes[1].Stderr, "msg=restarted") {
		t.Error(nodes[1].Stderr)
	}
	nodes[0].says(t, 0, exitcodes.ReasonSucceeded)
	if strings.Count(nodes[0].Stdout, "resumed at 20") != 2 {
		t.Errorf("%s\n%s", nodes[0].Stdout, nodes[0].Stderr)
	}
	abort()
}
