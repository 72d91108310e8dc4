package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Descendant is a living process below this one.
type Descendant struct {
	PID     int
	Name    string // the kernel's short name of it, at most 15 bytes
	State   byte   // R, S, D, T, Z, … as in proc(5)
	started string // with the PID, its identity
}

func (d Descendant) String() string { return fmt.Sprintf("%d (%s)", d.PID, d.Name) }

// Dead reports whether the process, or at least its first thread, has ended.
func (d Descendant) Dead() bool { return d.State == 'Z' || d.State == 'X' }

// Uninterruptible reports whether the process sleeps where not even SIGKILL reaches it.
func (d Descendant) Uninterruptible() bool { return d.State == 'D' }

// inherited are the children that this process had before it started any: "server & exec gangrun run ..." in an
// entrypoint script. They and what descends from them belong to somebody else.
func inherited() map[int]string {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == unix.ECHILD {
		return nil // no children, as nearly always; looking through /proc takes longer than all else at the start
	}
	found, err := descendants(nil)
	if err != nil {
		return nil
	}
	known := map[int]string{}
	for _, d := range found {
		known[d.PID] = d.started
	}
	return known
}

// Descendants lists every process that descends from this one, dead ones that are not reaped yet among them: one that
// looks dead may have threads that still run. As PID 1 or subreaper that is everything that
// any worker has ever left behind, whatever group or session it moved to. Not among them: what this process had as
// children before it started any, and what entered the container in another way (kubectl exec).
func (r *Reaper) Descendants() ([]Descendant, error) { return descendants(r.inherited) }

func descendants(except map[int]string) ([]Descendant, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	children := map[int][]Descendant{}
	for _, file := range stats {
		if d, parent, ok := readStat(file); ok {
			children[parent] = append(children[parent], d)
		}
	}
	var found []Descendant
	for queue := []int{os.Getpid()}; len(queue) > 0; queue = queue[1:] {
		for _, d := range children[queue[0]] {
			if started, found := except[d.PID]; found && started == d.started {
				continue
			}
			queue = append(queue, d.PID)
			found = append(found, d)
		}
	}
	return found, nil
}

// Look returns the process pid, or nothing when it is gone.
func Look(pid int) []Descendant {
	d, _, ok := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	if !ok {
		return nil
	}
	return []Descendant{d}
}

// readStat reads the fields of proc_pid_stat(5) that matter here. The name is in parentheses and may itself hold
// spaces and parentheses.
func readStat(file string) (d Descendant, parent int, ok bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return d, 0, false
	}
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return d, 0, false
	}
	fields := strings.Fields(string(data[end+1:]))
	if len(fields) < 20 {
		return d, 0, false
	}
	d.PID, _ = strconv.Atoi(strings.TrimSpace(string(data[:open])))
	d.Name = string(data[open+1 : end])
	d.State = fields[0][0]
	parent, _ = strconv.Atoi(fields[1])
	d.started = fields[19]
	return d, parent, d.PID > 0
}

// Signal sends sig to the process unless it is gone, even if its PID has been given to another one since.
func (d Descendant) Signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(d.PID, 0)
	if err == unix.ESRCH {
		return
	}
	if err == nil {
		defer unix.Close(fd)
	}
	now, _, ok := readStat(fmt.Sprintf("/proc/%d/stat", d.PID))
	if !ok || now.started != d.started {
		return
	}
	if err == nil {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0) // it has just ended, or is not ours to signal: the caller looks again
		return
	}
	_ = unix.Kill(d.PID, sig) // a kernel before 5.3 has no pidfd
}
