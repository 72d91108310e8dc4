package supervisor

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gangrun/gangrun/supervisor/evidence/procs"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/process"
)

// machineState is what /proc shows of workers that seem to hang.
type machineState struct {
	trouble []string // of each worker: a process that cannot go on; empty for none
	shown   string
	at      time.Time // it was seen
}

// The bounds of it.
const (
	mostProcesses = 256     // of one worker
	mostShown     = 1 << 20 // bytes
	stateAgain    = 200 * time.Millisecond
)

// stateOf looks twice: what sleeps uninterruptibly for a moment waits for a disk as ever.
func stateOf(pids []int) *machineState {
	first, err := procs.Read()
	if err != nil {
		return nil
	}
	time.Sleep(stateAgain)
	table, err := procs.Read()
	if err != nil {
		return nil
	}
	state := &machineState{trouble: make([]string, len(pids)), at: time.Now()}
	var b strings.Builder
	for i, pid := range pids {
		if pid == 0 {
			continue
		}
		before := map[int]byte{}
		for _, p := range first.Tree(pid) {
			before[p.PID] = p.State
		}
		tree := table.Tree(pid)
		for _, p := range tree[:min(len(tree), mostProcesses)] {
			s := table.State(p)
			if what := trouble(s); what != "" && before[p.PID] == p.State && state.trouble[i] == "" {
				state.trouble[i] = what
			}
			if b.Len() < mostShown {
				fmt.Fprintf(&b, "worker %d: %s", i, s)
			}
		}
	}
	state.shown = b.String()
	return state
}

// until is the state as far as it tells where the workers stood before they began to be held, or ended; zero: they have not.
func (m *machineState) until(ended time.Time) *machineState {
	if m == nil || ended.IsZero() || m.at.Before(ended) {
		return m
	}
	return &machineState{make([]string, len(m.trouble)), "seen while they were being ended:\n" + m.shown, m.at}
}

// trouble is why a process cannot go on, if it cannot.
func trouble(s procs.State) string {
	switch {
	case s.Stopped():
		return fmt.Sprintf("process %v is stopped", s.Process)
	case s.State == 'D':
		return fmt.Sprintf("process %v sleeps in the kernel where nothing wakes it (%s)", s.Process, cmp.Or(s.Waits, "unknown"))
	}
	return ""
}

// survives says why a process that has counted as gone is still there: SIGKILL does not end it. Empty: it is not.
func survives(pid int) string {
	if now := process.Look(pid); len(now) == 0 || now[0].Dead() {
		return ""
	}
	table, err := procs.Read()
	if err != nil {
		return ""
	}
	tree := table.Tree(pid)
	if len(tree) == 0 || tree[0].Dead() || tree[0].Parent != os.Getpid() { // the number may be another's by now
		return ""
	}
	s := table.State(tree[0])
	return fmt.Sprintf("process %v survives SIGKILL: it sleeps in the kernel where nothing wakes it (%s)", s.Process, cmp.Or(s.Waits, "unknown"))
}

// text is the state for a file.
func (m *machineState) text(r *hang.Report) string {
	text := fmt.Sprintf("%s\nlimit: %v\n\n", r, r.Limit)
	if m == nil {
		return text + "the state of the processes was not known in time\n"
	}
	return text + m.shown
}
