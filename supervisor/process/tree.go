package process

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Descendant is a living process below this one.
type Descendant struct {
	PID     int
	Name    string // the kernel's short name of it, at most 15 bytes
	State   byte   // R, S, D, T, Z, … as in proc(5)
	group   int    // process group
	session int
	started string // with the PID, its identity
}

func (d Descendant) String() string { return fmt.Sprintf("%d (%s)", d.PID, d.Name) }

// Dead reports whether the process, or at least its first thread, has ended.
func (d Descendant) Dead() bool { return d.State == 'Z' || d.State == 'X' }

// Same reports whether both are one process, and not two that had the same PID one after the other.
func (d Descendant) Same(o Descendant) bool { return d.PID == o.PID && d.started == o.started }

// Uninterruptible reports whether the process sleeps where not even SIGKILL reaches it.
func (d Descendant) Uninterruptible() bool { return d.State == 'D' }

// foreign are the children that this process had before it started any, and what descended from them by then: "server &
// exec gangrun run ..." in an entrypoint script. They belong to somebody else, and so does what descends from them later on.
type foreign struct {
	started  map[int]string // by PID
	groups   map[int]bool
	sessions map[int]bool
	unmarked bool // what we start can be told by its environment
}

func findForeign() foreign {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == unix.ECHILD {
		return foreign{} // no children, as nearly always; looking through /proc takes longer than all else at the start
	}
	found, err := descendants(nil)
	if err != nil || len(found) == 0 {
		return foreign{}
	}
	f := foreign{started: map[int]string{}, groups: map[int]bool{}, sessions: map[int]bool{}}
	ours, _ := unix.Getsid(0)
	for _, d := range found {
		f.started[d.PID], f.groups[d.group] = d.started, true
		if d.session != ours { // workers may be in ours
			f.sessions[d.session] = true
		}
	}
	_, nested := os.LookupEnv(markVariable)
	f.unmarked = !nested
	return f
}

// markVariable is set for whatever a supervisor starts.
const markVariable = "GANGRUN_ROUND"

// has reports whether a child of ours that we did not start is theirs: one of them, or an orphan that has been handed to us.
// Workers never are in a process group that was there before them. What has left its group may be told by its environment,
// unless it has emptied that.
func (f foreign) has(d Descendant) bool {
	if f.started == nil {
		return false
	}
	if f.started[d.PID] == d.started || f.groups[d.group] || f.sessions[d.session] {
		return true
	}
	return f.unmarked && !marked(d.PID)
}

// marked reports whether the process may be one that a supervisor started, or that descends from one: it has the mark, or
// it has emptied its environment. Right at an exec there is neither environment nor command line for a moment.
func marked(pid int) bool {
	for range 100 {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || len(environ) > 0 {
			return err != nil || bytes.Contains(environ, []byte(markVariable+"="))
		}
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || len(line) > 0 {
			return true
		}
		runtime.Gosched()
	}
	return true
}

// Descendants lists every process that descends from this one, dead ones that are not reaped yet among them: one that
// looks dead may have threads that still run. As PID 1 or subreaper that is everything that
// any worker has ever left behind, whatever group or session it moved to. Not among them: what this process had as
// children before it started any and what descends from those, and what entered the container in another way (kubectl
// exec).
func (r *Reaper) Descendants() ([]Descendant, error) {
	return descendants(func(d Descendant) bool { return !r.hasStarted(d) && r.foreign.has(d) })
}

// Stats are the paths of the stat files of all processes in such a directory as /proc, in the order of their numbers. A pattern of
// filepath.Glob would read each process's own directory, too, which takes several times as long as the files.
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

// descendants lists this process's, without the children, and what is below them, for which except says so.
func descendants(except func(Descendant) bool) ([]Descendant, error) {
	stats, err := Stats("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]Descendant{}
	for _, file := range stats {
		if d, parent, ok := readStat(file); ok {
			children[parent] = append(children[parent], d)
		}
	}
	self := os.Getpid()
	var found []Descendant
	for queue := []int{self}; len(queue) > 0; queue = queue[1:] {
		for _, d := range children[queue[0]] {
			if queue[0] == self && except != nil && except(d) {
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

func readStat(file string) (d Descendant, parent int, ok bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return d, 0, false
	}
	return parseStat(data)
}

// parseStat reads the fields of proc_pid_stat(5) that matter here. The name is in parentheses and may itself hold
// spaces and parentheses.
func parseStat(data []byte) (d Descendant, parent int, ok bool) {
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
	d.group, _ = strconv.Atoi(fields[2])
	d.session, _ = strconv.Atoi(fields[3])
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
