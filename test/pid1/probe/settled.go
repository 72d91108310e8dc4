package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// settled waits until its parent has no child left but itself, and no process anywhere in view is a zombie of that
// parent; then it ends with the code given. There is no event for somebody else's reaping, so it looks again and
// again.
func settled(args []string) {
	code, err := strconv.Atoi(args[0])
	if err != nil {
		fail("%v", err)
	}
	deadline := time.Now().Add(lifetime)
	for {
		left := siblings()
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			tell("not reaped: %s", strings.Join(left, ", "))
			os.Exit(97)
		}
		time.Sleep(time.Millisecond)
	}
	tell("settled")
	os.Exit(code)
}

// siblings describes the other children of this process's parent, dead or alive.
func siblings() []string {
	parent, self := strconv.Itoa(os.Getppid()), strconv.Itoa(os.Getpid())
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	var found []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // gone meanwhile
		}
		pid := filepath.Base(filepath.Dir(file))
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		if state, ppid := fields[0], fields[1]; ppid == parent && pid != self {
			found = append(found, fmt.Sprintf("%s (%s)", pid, state))
		}
	}
	return found
}
