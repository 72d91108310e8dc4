package flight

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Dumps are where torch's watchdog writes a rank's record when a collective takes too long, as its environment says: what
// it may be called, the likeliest first.
func Dumps(env func(name string) string, dir string, rank int) (files []string) {
	prefix := cmp.Or(env("TORCH_FR_DUMP_TEMP_FILE"), env("TORCH_NCCL_DEBUG_INFO_TEMP_FILE"))
	if prefix != "" {
		if !filepath.IsAbs(prefix) {
			prefix = filepath.Join(dir, prefix)
		}
		return []string{fmt.Sprint(prefix, rank)}
	}
	cache := env("XDG_CACHE_HOME")
	if home := env("HOME"); cache == "" && home != "" {
		cache = filepath.Join(home, ".cache")
	}
	if filepath.IsAbs(cache) {
		files = append(files, fmt.Sprint(filepath.Join(cache, "torch", "comm_lib_trace_rank_"), rank))
	}
	return append(files, fmt.Sprint("/tmp/nccl_trace_rank_", rank)) // before torch 2.10
}

// MostDump bounds a dump that is read, in bytes: 2,000 calls with their stacks take one to four million.
const MostDump = 8 << 20

// ReadDump reads what was written into a file after a moment, and when that was. A file from before is another run's.
func ReadDump(path string, after time.Time) (r Record, written time.Time, err error) {
	// Whoever may write there may have put anything there: nothing is waited for.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return r, written, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return r, written, err
	case !info.Mode().IsRegular():
		return r, written, fmt.Errorf("%s: no regular file", path)
	case info.ModTime().Before(after):
		return r, written, fmt.Errorf("%s: %w", path, os.ErrNotExist)
	case info.Size() > MostDump:
		return r, written, fmt.Errorf("%s: %d bytes, at most %d are read", path, info.Size(), MostDump)
	}
	data, err := io.ReadAll(io.LimitReader(f, MostDump))
	if err != nil {
		return r, written, err
	}
	r, err = ParsePickle(data)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, info.ModTime(), err
}
