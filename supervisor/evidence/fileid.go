package evidence

import (
	"os"
	"syscall"
)

// FileID tells one state of a file from another: which file it is, how long, and when it was last written and changed,
// by the clock of the machine that keeps it. The zero value is no file.
type FileID struct {
	dev, ino     uint64
	size         int64
	mtime, ctime syscall.Timespec
}

// IdentifyFile returns what the file at path is now; the zero value when there is none, or it cannot be read.
func IdentifyFile(path string) FileID {
	info, err := os.Stat(path)
	if err != nil {
		return FileID{}
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return FileID{}
	}
	return FileID{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mtime: st.Mtim, ctime: st.Ctim}
}
