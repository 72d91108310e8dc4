package supervisor

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/supervisor/evidence/procs"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/process"
)

// stacksVariable has Python write the stacks of all threads when a signal ends it.
const stacksVariable = "PYTHONFAULTHANDLER"

// How long stacks may take.
const (
	stacksTime = 5 * time.Second
	stacksLook = 20 * time.Millisecond
)

// hold stops the workers' Python processes where they stand, and whoever launched them before.
func (s *Supervisor) hold() {
	s.health.ending()
	pids := s.pids()
	s.beside(func() func() {
		held := map[int][]process.Descendant{}
		if s.cfg.PythonStacks {
			held = stopRanks(pids)
		}
		return func() {
			s.round.held = held
			s.step(node.Held{})
		}
	})
}

// stopRanks stops them, and returns what it has stopped of each worker, by its index: nothing where /proc cannot be read.
func stopRanks(pids []int) map[int][]process.Descendant {
	stopped := map[int][]process.Descendant{}
	table, err := procs.Read()
	if err != nil {
		return stopped
	}
	for i, pid := range pids {
		if pid == 0 {
			continue
		}
		ranks, launchers := table.Ranks(pid)
		for _, p := range append(launchers, ranks...) {
			found := process.Look(p.PID)
			signal(found, unix.SIGSTOP)
			stopped[i] = append(stopped[i], found...)
		}
	}
	return stopped
}

// dump has the workers' Python processes write their stacks, all in the same instant, so that the death of one is no
// event for another. Whoever launched them is stopped before, for the same reason.
func (s *Supervisor) dump() {
	s.health.ending()
	pids := s.pids()
	if !s.cfg.PythonStacks {
		s.besideEvent(func() node.Event { return node.Dumped{} })
		return
	}
	s.besideEvent(func() node.Event {
		table, err := procs.Read()
		if err != nil {
			return node.Dumped{}
		}
		var ev node.Dumped
		var ranks []process.Descendant
		for i, pid := range pids {
			if pid == 0 {
				continue
			}
			found, launchers := table.Ranks(pid)
			for _, p := range launchers {
				signal(process.Look(p.PID), unix.SIGSTOP)
			}
			for _, p := range found {
				noCore(p.PID)
				ranks = append(ranks, process.Look(p.PID)...)
			}
			if len(found) > 0 {
				ev.Asked = append(ev.Asked, i)
			}
		}
		abort(ranks)
		awaitEnd(ranks, time.Now().Add(stacksTime))
		return ev
	})
}

// abort ends processes so that none sees the end of another. On a busy machine many milliseconds may pass between two signals:
// so all are stopped first, and find theirs when they go on. It is for their first thread, which runs the program: of a stopped
// process any thread may take it.
func abort(list []process.Descendant) {
	signal(list, unix.SIGSTOP)
	for _, d := range list {
		if now := process.Look(d.PID); len(now) > 0 && now[0].Same(d) {
			_ = unix.Tgkill(d.PID, d.PID, unix.SIGABRT)
		}
	}
	signal(list, unix.SIGCONT)
}

// noCore keeps the kernel from writing the whole memory of a process when it is aborted, which may take minutes. Where cores go
// to a program, as of systemd or Ubuntu, a limit of 0 counts for nothing, and 1 for none: core(5). Whoever may not raise a limit of 0
// has a core without memory written.
func noCore(pid int) {
	if unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}, nil) == nil {
		return
	}
	_ = unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/coredump_filter", pid), []byte("0"), 0)
}

func signal(list []process.Descendant, sig unix.Signal) {
	for _, d := range list {
		d.Signal(sig)
	}
}

// awaitEnd waits until all are gone, or dead and not reaped.
func awaitEnd(list []process.Descendant, deadline time.Time) {
	for _, d := range list {
		for time.Now().Before(deadline) {
			if now := process.Look(d.PID); len(now) == 0 || now[0].Dead() {
				break
			}
			time.Sleep(stacksLook)
		}
	}
}
