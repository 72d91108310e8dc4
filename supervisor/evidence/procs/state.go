package procs

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gangrun/gangrun/supervisor/process"
)

// State is where a process stands in the kernel.
type State struct {
	Process
	Command string // its program, and how many arguments that has; not what they are: people give passwords there
	Waits   string // the kernel's function in which it waits; empty where that is not to be seen
	Call    string // the number of its system call and what it was given, or "running"; empty likewise
	Stack   string // of it in the kernel; empty where that is not to be read, as by anybody but root
	Threads []Process
}

// The bounds of a state.
const (
	mostThreads = 256
	mostText    = 4 << 10
)

// State looks at one process.
func (t Table) State(p Process) State {
	s := State{Process: p}
	if line := strings.TrimRight(t.text(p.PID, "cmdline"), "\x00"); line != "" {
		program, _, _ := strings.Cut(line, "\x00")
		s.Command = fmt.Sprintf("%s, arguments: %d", program, strings.Count(line, "\x00"))
	}
	s.Waits, s.Call, s.Stack = t.text(p.PID, "wchan"), t.text(p.PID, "syscall"), t.text(p.PID, "stack")
	if s.Waits == "0" { // it runs, or may not be seen
		s.Waits = ""
	}
	s.Threads = t.threads(p.PID)
	return s
}

// threads are the threads of a process, its first among them; at most so many.
func (t Table) threads(pid int) (threads []Process) {
	files, _ := process.Stats(fmt.Sprintf("%s/%d/task", t.root, pid))
	for _, file := range files[:min(len(files), mostThreads)] {
		if data, err := os.ReadFile(file); err == nil {
			if thread, ok := process.ParseStat(data); ok {
				threads = append(threads, thread)
			}
		}
	}
	return threads
}

// text is the beginning of one of a process's files.
func (t Table) text(pid int, name string) string {
	f, err := os.Open(fmt.Sprintf("%s/%d/%s", t.root, pid, name))
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, mostText)) // what could be read
	return strings.TrimSpace(string(data))
}

// String is the state for a person, a few lines.
func (s State) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pid %d (%s) state %c, parent %d, cpu %v, %d threads\n", s.PID, s.Name, s.State, s.Parent, s.CPU, len(s.Threads))
	for _, line := range []struct{ name, text string }{{"command", s.Command}, {"waits in", s.Waits}, {"system call", s.Call}} {
		if line.text == "" {
			line.text = "unknown"
		}
		fmt.Fprintf(&b, "  %s: %s\n", line.name, line.text)
	}
	if s.Stack == "" {
		b.WriteString("  kernel stack: not readable\n")
	} else {
		b.WriteString("  kernel stack:\n    " + strings.ReplaceAll(s.Stack, "\n", "\n    ") + "\n")
	}
	for _, t := range s.Threads {
		if t.PID != s.PID {
			fmt.Fprintf(&b, "  thread %d (%s) state %c, cpu %v\n", t.PID, t.Name, t.State, t.CPU)
		}
	}
	return b.String()
}
