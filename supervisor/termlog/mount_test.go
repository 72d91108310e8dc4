package termlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

// In a mount namespace of its own: what the kubelet makes of a container's termination log.
func TestMounts(t *testing.T) {
	cmd := child(t, "mounts", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || bytes.Contains(out, []byte(errNoMounts.Error())) {
		t.Skipf("the right to mount (%v %s) is missing: run the tests as root", err, bytes.TrimSpace(out))
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

var errNoMounts = errors.New("cannot mount here")

// writeOnMounts is the child of TestMounts.
func writeOnMounts(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("%w: %w", errNoMounts, err)
	}
	return errors.Join(bindMount(dir), fullDisk(dir))
}

// bindMount has a file of the node mounted into a root that is read-only otherwise.
func bindMount(dir string) error {
	root, onNode := filepath.Join(dir, "root"), filepath.Join(dir, "on-node")
	path := filepath.Join(root, "termination-log")
	err := errors.Join(
		os.Mkdir(root, 0o755),
		syscall.Mount("tmpfs", root, "tmpfs", 0, ""),
		os.WriteFile(path, nil, 0o666),
		os.WriteFile(onNode, []byte("old"), 0o666),
		syscall.Mount(onNode, path, "", syscall.MS_BIND, ""),
		syscall.Mount("", root, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""),
	)
	if err != nil {
		return err
	}
	// What this is about: neither can another file be made there, nor can one take the mounted one's place.
	if _, err := os.Create(filepath.Join(root, "other")); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("creating a file in the read-only root: %w", err)
	}
	if err := syscall.Rename(path, filepath.Join(root, "other")); err != syscall.EBUSY && err != syscall.EROFS {
		return fmt.Errorf("renaming the mounted file: %w", err)
	}
	l, err := Open(path, size)
	if err != nil {
		return err
	}
	for i := range 3 {
		if err := l.Write(record(i)); err != nil {
			return err
		}
		if err := onDisk(onNode, record(i)); err != nil {
			return err
		}
	}
	if err := l.Close(); err != nil {
		return err
	}

	const readOnly = syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY
	if err := syscall.Mount("", path, "", readOnly, ""); err != nil {
		return err
	}
	if _, err := Open(path, size); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("opening a file that is mounted read-only: %w", err)
	}
	return onDisk(onNode, record(2))
}

// fullDisk has no room for a new file's content, but it has for an old one's.
func fullDisk(dir string) error {
	disk := filepath.Join(dir, "disk")
	err := errors.Join(os.Mkdir(disk, 0o755), syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"))
	if err != nil {
		return err
	}
	old := filepath.Join(disk, "old")
	l, err := Open(old, size)
	if err != nil {
		return err
	}
	if err := errors.Join(l.Write(record(1)), WriteState(disk, "node", record(1))); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 64<<10), 0o644); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("filling the disk: %w", err)
	}
	if err := l.Write(record(2)); err != nil {
		return fmt.Errorf("writing over what is there: %w", err)
	}
	if err := onDisk(old, record(2)); err != nil {
		return err
	}
	fresh, err := Open(filepath.Join(disk, "fresh"), size)
	if err != nil {
		return err
	}
	if err := fresh.Write(record(3)); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("writing to a full disk: %w", err)
	}
	if err := os.Remove(filepath.Join(disk, "ballast")); err != nil {
		return err
	}
	if err := fresh.Write(record(4)); err != nil {
		return fmt.Errorf("writing when there is room again: %w", err)
	}
	if err := os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 64<<10), 0o644); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("filling the disk again: %w", err)
	}
	if err := WriteState(disk, "node", record(5)); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("state on a full disk: %w", err)
	}
	if err := onDisk(filepath.Join(disk, "node.json"), record(1)); err != nil {
		return err
	}
	if left, err := filepath.Glob(filepath.Join(disk, ".*")); err != nil || len(left) > 0 {
		return fmt.Errorf("temporary files are left: %q, %v", left, err)
	}
	return nil
}

func onDisk(path string, want exitcodes.Message) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	got, err := exitcodes.ParseMessage(b)
	if err != nil {
		return err
	}
	if got.ExitCode != want.ExitCode {
		return fmt.Errorf("%s holds record %d, want %d", path, got.ExitCode, want.ExitCode)
	}
	return nil
}
