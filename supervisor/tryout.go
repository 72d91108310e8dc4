package supervisor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/supervisor/preflight"
)

// ProbeCommand is the argument by which this program is started to try a directory out; see ProbeDirectory.
const ProbeCommand = "probe-directory"

// ProbeDirectory writes a small file to the directory at path, removes it, and prints the result as JSON.
func ProbeDirectory(path string) {
	_ = json.NewEncoder(os.Stdout).Encode(tryOut(path)) // nobody is left to tell
}

// tryOut tries a directory out.
func tryOut(path string) preflight.Directory {
	d := preflight.Directory{Path: path}
	fail := func(err error) preflight.Directory {
		d.Error, d.Failure = err.Error(), failureKind(err)
		return d
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d
	case err != nil:
		return fail(err)
	}
	d.Made = true
	if !info.IsDir() {
		return fail(&fs.PathError{Op: "write", Path: path, Err: unix.ENOTDIR})
	}
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return fail(err)
	}
	d.Size, d.Free = st.Blocks*uint64(st.Bsize), st.Bavail*uint64(st.Bsize)
	d.Local = !slices.Contains(remote, uint32(st.Type))
	began := time.Now()
	if err := writeSmall(path); err != nil {
		return fail(err)
	}
	d.Latency = time.Since(began)
	return d
}

// writeSmall writes a file without a name, if the file system supports that, so that nothing stays if this is killed.
func writeSmall(dir string) (err error) {
	var f *os.File
	if fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600); err == nil {
		f = os.NewFile(uintptr(fd), dir)
	} else if f, err = os.CreateTemp(dir, ".gangrun-preflight-*"); err != nil {
		return err
	} else {
		defer os.Remove(f.Name())
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 4096)); err != nil {
		return err
	}
	return f.Sync()
}

// remote are the kinds of file systems that are, or may be, on other machines: what is wrong with them is wrong on all
// nodes. Source: linux/magic.h, and the file systems' own.
var remote = []uint32{
	unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC,
	unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC, unix.AFS_SUPER_MAGIC, unix.OCFS2_SUPER_MAGIC,
	0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */, 0x19830326, /* BeeGFS */
}

// failureKind tells what the machine or the file server is to blame for from the rest.
func failureKind(err error) preflight.Failure {
	for _, errno := range []error{unix.ENOSPC, unix.EDQUOT} {
		if errors.Is(err, errno) {
			return preflight.FailureFull
		}
	}
	for _, errno := range []error{
		unix.EIO, unix.ESTALE, unix.ESHUTDOWN, unix.ENOTCONN, unix.EREMOTEIO, unix.ENXIO,
		unix.ENODEV, unix.ETIMEDOUT, unix.EHOSTDOWN,
	} {
		if errors.Is(err, errno) {
			return preflight.FailureBroken
		}
	}
	return preflight.FailureDenied
}
