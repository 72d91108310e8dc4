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

// Dump is where torch's watchdog writes a rank's record when a collective takes too long, if the rank's environment names
// the place. Else it is empty: all jobs of a user share the default place, so what lies there may be another one's.
func Dump(env func(name string) string, dir string, rank int) string {
	prefix := cmp.Or(env("TORCH_FR_DUMP_TEMP_FILE"), env("TORCH_NCCL_DEBUG_INFO_TEMP_FILE"))
	switch {
	case prefix == "":
		return ""
	case !filepath.IsAbs(prefix):
		prefix = filepath.Join(dir, prefix)
	}
	return fmt.Sprint(prefix, rank)
}

// MostDump bounds a dump that is read, in bytes: 2,000 calls with their stacks take one to four million.
const MostDump = 8 << 20

// ReadDump reads what was written into a file after a moment. A file from before is another run's. The error says why there is
// none, or that it cannot be read.
func ReadDump(path string, after time.Time) (r Record, err error) {
	// Whoever may write there may have put anything there: nothing is waited for.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return r, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return r, err
	case !info.Mode().IsRegular():
		return r, fmt.Errorf("%s: no regular file", path)
	case info.ModTime().Before(after):
		return r, fmt.Errorf("%s: %w", path, os.ErrNotExist)
	case info.Size() > MostDump:
		return r, fmt.Errorf("%s: %d bytes, at most %d are read", path, info.Size(), MostDump)
	}
	data, err := io.ReadAll(io.LimitReader(f, MostDump))
	if err != nil {
		return r, err
	}
	r, err = ParsePickle(data)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, err
}
