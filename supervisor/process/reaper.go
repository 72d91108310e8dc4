package process

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes/crash"
)

// Event is a change of a started process, or, with a zero PID, of the orphans only.
type Event struct {
	PID    int
	Status unix.WaitStatus // as wait4 returned it: exited, signaled, stopped or continued
	At     time.Time
	// Alone is true when gangrun had no child left of any kind, alive or dead, right after this change: nothing of
	// any worker survives.
	Alone bool
}

// Ended reports whether the process is gone (and reaped), as opposed to stopped or continued.
func (e Event) Ended() bool { return e.Status.Exited() || e.Status.Signaled() }

// Reaper is the only owner of wait4 in the program. Its methods may be called from any goroutine; whoever starts
// processes must keep reading Events.
type Reaper struct {
	events  chan Event
	poke    chan os.Signal // SIGCHLD, and our own nudges
	foreign foreign        // children from before

	mu      sync.Mutex
	started map[int]bool // not yet reaped; a PID in here cannot be anybody else's
	leaders map[int]bool // all that were started, where there are children from before
	spawner *spawner
}

// NewReaper makes this process the reaper of all its descendants' orphans and begins to reap. It fails where the kernel lets
// only PID 1 reap orphans.
func NewReaper() (*Reaper, error) {
	if os.Getpid() != 1 {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("%w: this kernel, or qemu-user, lets only PID 1 reap orphans; start gangrun as PID 1",
				os.NewSyscallError("prctl(PR_SET_CHILD_SUBREAPER)", err))
		}
	}
	r := &Reaper{
		events:  make(chan Event, 16),
		poke:    make(chan os.Signal, 1),
		started: map[int]bool{},
		leaders: map[int]bool{},
		spawner: newSpawner(),

		foreign: findForeign(),
	}
	signal.Notify(r.poke, unix.SIGCHLD)
	crash.Go(r.reap)
	r.nudge() // children that were handed to us by exec may be dead already
	return r, nil
}

// Events delivers the changes of started processes in the order in which they were seen.
func (r *Reaper) Events() <-chan Event { return r.events }

// Start starts a process. The error is a *StartError.
func (r *Reaper) Start(spec Spec) (pid int, err error) {
	// The lock is held over the fork: the child's end cannot be taken for an orphan's before its PID is known.
	r.mu.Lock()
	pid, err = r.spawner.start(spec)
	if err == nil {
		r.started[pid] = true
		if r.foreign.began != nil {
			r.leaders[pid] = true
		}
	}
	r.mu.Unlock()
	r.nudge() // the child may have ended before anybody listened
	return pid, err
}

// Signal sends sig to the process pid, or to its process group when group is set and to the process alone where the
// group does not exist (yet). It does nothing once the process has been reaped, since its PID may be somebody else's
// by then.
func (r *Reaper) Signal(pid int, sig unix.Signal, group bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.started[pid] {
		return
	}
	if group && unix.Kill(-pid, sig) == nil {
		return
	}
	_ = unix.Kill(pid, sig) // the only possible error is that it has just died, which wait4 is about to tell
}

// hasStarted reports whether the process was started here, or is in a group or session that one made which was.
func (r *Reaper) hasStarted(d Descendant) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leaders[d.PID] || r.leaders[d.Group] || r.leaders[d.Session]
}

func (r *Reaper) nudge() {
	select {
	case r.poke <- unix.SIGCHLD:
	default:
	}
}

func (r *Reaper) reap() {
	for range r.poke {
		for _, ev := range r.drain() {
			r.events <- ev
		}
	}
}

// drain reaps until nothing is left to reap: signals coalesce, so one SIGCHLD may stand for any number of children.
func (r *Reaper) drain() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []Event
	orphans := false
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG|unix.WUNTRACED|unix.WCONTINUED, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // ECHILD: no children at all
			if len(events) == 0 && orphans {
				events = append(events, Event{At: time.Now()})
			}
			if len(events) > 0 {
				events[len(events)-1].Alone = true
			}
			return events
		case pid == 0: // there are children, all alive
			return events
		case r.started[pid]:
			ev := Event{PID: pid, Status: ws, At: time.Now()}
			if ev.Ended() {
				delete(r.started, pid)
			}
			events = append(events, ev)
		default:
			orphans = true
		}
	}
}
