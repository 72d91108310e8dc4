package checkpoint

import (
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A save that was cut can be told from one over an earlier file by when the file was made: writing over a file keeps that
// time. What a save takes at most from making a file to its last byte is its size at writeSpeed, in bytes a second, and
// firstSlack; a longer time says that there was an earlier save.
const (
	writeSpeed = 50 << 20
	firstSlack = 200 * time.Millisecond
)

// firstSave reports whether a file of a directory was made by the save that wrote it last. A file system that does not
// say when a file was made says no.
func firstSave(dir, path string) bool {
	var s unix.Statx_t
	const want = unix.STATX_BTIME | unix.STATX_MTIME | unix.STATX_SIZE
	err := unix.Statx(unix.AT_FDCWD, filepath.Join(dir, filepath.FromSlash(path)), 0, want, &s)
	if err != nil || s.Mask&want != want {
		return false
	}
	took := time.Unix(s.Mtime.Sec, int64(s.Mtime.Nsec)).Sub(time.Unix(s.Btime.Sec, int64(s.Btime.Nsec)))
	return took <= firstSlack+time.Duration(float64(s.Size)/writeSpeed*float64(time.Second))
}
