package environ

import (
	"io"
	"os"
)

// mostStarted is the most that a program can be started with: its arguments and its environment take three quarters of 8 MiB
// at most (execve(2)).
const mostStarted = 6 << 20

// Started reads what /proc shows at file of a program's start, its environ or its cmdline: entries, each with a zero byte behind
// it. A process can let that be any part of its memory (PR_SET_MM_MAP, for which it needs no privilege), so no more is read
// than there can have been.
func Started(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostStarted))
}
