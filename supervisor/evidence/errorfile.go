package evidence

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const errorFileMax = 1 << 20

// ReadErrorFile reads the torchelastic error file that a worker may have left, at most 1 MiB of it; nil when there is
// none. A worker may have put anything at that path, so a pipe or a device is not waited for.
func ReadErrorFile(path string) []byte {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, errorFileMax))
	if err != nil {
		return nil
	}
	return data
}
