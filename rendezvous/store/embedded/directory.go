package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// pattern is how the directories are called.
const pattern = "gangrun-store-*"

// directory is a directory of one server. It is locked while the server lives.
type directory struct {
	path string
	lock *os.File
}

// makeDirectory makes a directory in dir, and removes those that dead servers have left there.
func makeDirectory(dir string) (*directory, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	sweep(dir)
	for {
		path, err := os.MkdirTemp(dir, pattern)
		if err != nil {
			return nil, unusable(fmt.Errorf("no directory for its data: %w", err))
		}
		lock, err := locked(path)
		if err != nil && (errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist)) {
			continue // another one was sweeping just then
		}
		if err != nil {
			os.Remove(path)
			return nil, fmt.Errorf("lock the directory for its data: %w", err)
		}
		if _, err := os.Stat(path); err == nil {
			return &directory{path: path, lock: lock}, nil
		}
		lock.Close()
	}
}

// unusable marks an error that does not go away by itself; a full disk may.
func unusable(err error) error {
	for _, lasting := range []error{fs.ErrNotExist, fs.ErrPermission, unix.EROFS, unix.ENOTDIR} {
		if errors.Is(err, lasting) {
			return fmt.Errorf("%w: %w", store.ErrUnusable, err)
		}
	}
	return err
}

func (f *directory) remove() error {
	defer f.lock.Close()
	return os.RemoveAll(f.path)
}

// sweep removes what is of no use to anybody. Where there are no locks, it removes nothing.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, pattern))
	for _, path := range left {
		if lock, err := locked(path); err == nil {
			os.RemoveAll(path)
			lock.Close()
		}
	}
}

func locked(path string) (*os.File, error) {
	// In a directory that others can write to there may be anything of that name.
	f, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
