package process

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stat is one process as proc_pid_stat(5) shows it, or one thread.
type Stat struct {
	PID, Parent    int
	Group, Session int
	Name           string // the kernel's short name of it, at most 15 bytes
	State          byte   // R, S, D, T, Z, …
	CPU            time.Duration
	Reaped         time.Duration // the CPU time of its children that have ended
	Began          uint64        // ticks since the machine's start: tells it from another one that gets its PID
}

// String is how messages name a process.
func (s Stat) String() string { return fmt.Sprintf("%d (%s)", s.PID, s.Name) }

// Dead reports whether it, or at least its first thread, has ended.
func (s Stat) Dead() bool { return s.State == 'Z' || s.State == 'X' }

// Stopped reports whether a signal or a tracer has stopped it.
func (s Stat) Stopped() bool { return s.State == 'T' || s.State == 't' }

// Uninterruptible reports whether it sleeps where not even SIGKILL reaches it.
func (s Stat) Uninterruptible() bool { return s.State == 'D' }

// tick is the unit of times in /proc/PID/stat: USER_HZ, which is 100 wherever Linux runs Go.
const tick = 10 * time.Millisecond

// ParseStat reads the content of a stat file. The name is in parentheses and may itself hold spaces and parentheses. It is
// false where that is no such file's.
func ParseStat(data []byte) (s Stat, ok bool) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return s, false
	}
	fields := strings.Fields(string(data[end+1:])) // from the state on, which is the third of the manual's
	if len(fields) < 20 || len(fields[0]) != 1 || !strings.Contains("RSDZTtWXxKPI", fields[0]) {
		return s, false
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(fields[i])
		return n
	}
	s.PID, _ = strconv.Atoi(strings.TrimSpace(string(data[:open])))
	s.Name, s.State = string(data[open+1:end]), fields[0][0]
	s.Parent, s.Group, s.Session = number(1), number(2), number(3)
	s.CPU = time.Duration(number(11)+number(12)) * tick
	s.Reaped = time.Duration(number(13)+number(14)) * tick
	s.Began, _ = strconv.ParseUint(fields[19], 10, 64)
	return s, s.PID > 0
}

// StatOf reads one process; false: there is none with that PID.
func StatOf(pid int) (Stat, bool) { return readStat(fmt.Sprintf("/proc/%d/stat", pid)) }

func readStat(file string) (Stat, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Stat{}, false
	}
	return ParseStat(data)
}

// Stats are the paths of the stat files of all processes in such a directory as /proc, in the order of their numbers. A pattern
// of filepath.Glob would read each process's own directory, too, which takes several times as long as the files. The error is
// that of listing the directory.
func Stats(dir string) (paths []string, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	for _, pid := range pids {
		paths = append(paths, fmt.Sprintf("%s/%d/stat", dir, pid))
	}
	return paths, nil
}
