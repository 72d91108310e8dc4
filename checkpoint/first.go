package checkpoint

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
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

// FirstSave reports whether a file of a directory was made by the save that wrote it last, or whether all of a directory
// was. A file system that does not say when a file was made says no.
func FirstSave(dir, path string) bool {
	full := filepath.Join(dir, filepath.FromSlash(path))
	info, err := os.Stat(full)
	if err != nil {
		return false
	}
	if info.IsDir() {
		return firstDirectory(full)
	}
	w, ok := writtenIn(full)
	return ok && !w.copied() && w.last.Sub(w.made) <= firstSlack+time.Duration(float64(w.size)/writeSpeed*float64(time.Second))
}

// maxFirst bounds how many files of a directory are asked about.
const maxFirst = 256

// firstDirectory reports whether the files of a directory were made one after the other, each when the one before it was
// written. Those that are written over were all made before the first of them was written last.
func firstDirectory(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 2 || len(entries) > maxFirst {
		return false
	}
	var all []written
	for _, e := range entries {
		w, ok := writtenIn(filepath.Join(dir, e.Name()))
		if !ok || w.copied() || !e.Type().IsRegular() {
			return false
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b written) int { return cmp.Or(a.made.Compare(b.made), a.last.Compare(b.last)) })
	for i := range len(all) - 1 {
		if all[i].last.After(all[i+1].made) {
			return false
		}
	}
	return true
}

// written is when a file was made and when it was written last, and its size in bytes.
type written struct {
	made, last time.Time
	size       uint64
}

// copied reports whether a file was made after it was written: it is a copy that has kept its time, and what was there
// before the first file was cut nothing tells.
func (w written) copied() bool { return w.made.After(w.last.Add(firstSlack)) }

func writtenIn(path string) (written, bool) {
	var s unix.Statx_t
	const want = unix.STATX_BTIME | unix.STATX_MTIME | unix.STATX_SIZE
	if err := unix.Statx(unix.AT_FDCWD, path, 0, want, &s); err != nil || s.Mask&want != want {
		return written{}, false
	}
	return written{time.Unix(s.Btime.Sec, int64(s.Btime.Nsec)), time.Unix(s.Mtime.Sec, int64(s.Mtime.Nsec)), s.Size}, true
}
