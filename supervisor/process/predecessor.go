package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/supervisor/environ"
)

// EndPredecessor kills what a dead gangrun of the same name has left behind: every process whose environment at its
// start had the given entry (NAME=value), which the caller gives to all that it starts. What descends from a gangrun
// that lives, or is an ancestor of this process, is left alone. It returns the processes that it killed, when all of
// them are gone; the error says that they are not.
func EndPredecessor(ctx context.Context, entry string) (killed []Descendant, err error) {
	again := time.NewTicker(leftBehindAgain)
	defer again.Stop()
	for {
		found, err := leftBehind(entry)
		if err != nil || len(found) == 0 {
			return killed, err
		}
		for _, d := range found {
			d.Signal(unix.SIGKILL)
			if !slices.ContainsFunc(killed, func(k Descendant) bool { return k.Same(d) }) {
				killed = append(killed, d)
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return killed, fmt.Errorf("a predecessor's processes do not end: %v: %w", found, ctx.Err())
		}
	}
}

const leftBehindAgain = 10 * time.Millisecond

func leftBehind(entry string) (found []Descendant, err error) {
	stats, err := Stats("/proc")
	if err != nil {
		return nil, err
	}
	parents := map[int]int{}
	var all []Descendant
	for _, file := range stats {
		if s, ok := readStat(file); ok {
			parents[s.PID] = s.Parent
			all = append(all, Descendant{s})
		}
	}
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	var own []int // and our ancestors
	for pid := os.Getpid(); pid > 0; pid = parents[pid] {
		own = append(own, pid)
	}
	for _, d := range all {
		if d.Dead() || slices.Contains(own, d.PID) || !hasEntry(d.PID, entry) || supervised(d.PID, parents, self) {
			continue
		}
		found = append(found, d)
	}
	return found, nil
}

// hasEntry reports whether the process was started with the entry in its environment. That of somebody else's process
// cannot be read; it is not ours.
func hasEntry(pid int, entry string) bool {
	started, err := environ.Started(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(bytes.Split(started, []byte{0}), func(e []byte) bool { return string(e) == entry })
}

// supervised reports whether an ancestor of the process is a gangrun that lives.
func supervised(pid int, parents map[int]int, self string) bool {
	for range 1000 { // a parent may have changed while we looked
		if pid = parents[pid]; pid <= 1 {
			return false
		}
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err == nil && strings.TrimSuffix(exe, " (deleted)") == strings.TrimSuffix(self, " (deleted)") {
			return true
		}
	}
	return false
}
