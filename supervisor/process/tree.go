package process

import (
	"bytes"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/supervisor/environ"
)

// Descendant is a living process below this one.
type Descendant struct{ Stat }

// Same reports whether both are one process, and not two that had the same PID one after the other.
func (d Descendant) Same(o Descendant) bool { return d.PID == o.PID && d.Began == o.Began }

// Uninterruptible reports whether the process sleeps where not even SIGKILL reaches it.
func (d Descendant) Uninterruptible() bool { return d.State == 'D' }

// foreign are the children that this process had before it started any, and what descended from them by then: "server &
// exec gangrun run ..." in an entrypoint script. They belong to somebody else, and so does what descends from them later on.
type foreign struct {
	began    map[int]uint64 // by PID
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
	f := foreign{began: map[int]uint64{}, groups: map[int]bool{}, sessions: map[int]bool{}}
	ours, _ := unix.Getsid(0)
	for _, d := range found {
		f.began[d.PID], f.groups[d.Group] = d.Began, true
		if d.Session != ours { // workers may be in ours
			f.sessions[d.Session] = true
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
	if f.began == nil {
		return false
	}
	if f.began[d.PID] == d.Began || f.groups[d.Group] || f.sessions[d.Session] {
		return true
	}
	return f.unmarked && !marked(d.PID)
}

// marked reports whether the process may be one that a supervisor started, or that descends from one: it has the mark, or
// it has emptied its environment. Right at an exec there is neither environment nor command line for a moment.
func marked(pid int) bool {
	for range 100 {
		started, err := environ.Started(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || len(started) > 0 {
			return err != nil || bytes.Contains(started, []byte(markVariable+"="))
		}
		if line, err := environ.Started(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || len(line) > 0 {
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

// descendants lists this process's, without the children, and what is below them, for which except says so.
func descendants(except func(Descendant) bool) ([]Descendant, error) {
	stats, err := Stats("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]Descendant{}
	for _, file := range stats {
		if s, ok := readStat(file); ok {
			children[s.Parent] = append(children[s.Parent], Descendant{s})
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
	s, ok := StatOf(pid)
	if !ok {
		return nil
	}
	return []Descendant{{s}}
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
	now, ok := StatOf(d.PID)
	if !ok || now.Began != d.Began {
		return
	}
	if err == nil {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0) // it has just ended, or is not ours to signal: the caller looks again
		return
	}
	_ = unix.Kill(d.PID, sig) // a kernel before 5.3 has no pidfd
}
