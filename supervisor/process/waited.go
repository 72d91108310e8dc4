package process

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// Waited is how long the threads of this process have been ready to run without a processor, all together: proc(5), schedstat.
// It is false where the kernel does not tell.
func Waited() (waited time.Duration, known bool) {
	const tasks = "/proc/self/task"
	dir, err := os.Open(tasks)
	if err != nil {
		return 0, false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		text, _ := os.ReadFile(tasks + "/" + name + "/schedstat") // else the thread has ended
		if fields := bytes.Fields(text); len(fields) == 3 {
			n, err := strconv.ParseInt(string(fields[1]), 10, 64)
			waited, known = waited+time.Duration(n), known || err == nil
		}
	}
	return waited, known
}
