package process

import (
	"runtime"
	"syscall"

	"github.com/gangrun/gangrun/exitcodes/crash"
)

// Spec says what to start and how.
type Spec struct {
	Path  string   // the program, as Find resolved it
	Argv  []string // with argv[0]
	Env   []string
	Dir   string
	Files []uintptr // descriptors 0, 1, 2, … of the process

	// NewSession makes the process the leader of a session of its own; otherwise it leads a process group in ours.
	NewSession bool
	// Terminal lets the new session take the terminal on descriptor 0 over. (A group in our session is brought to the
	// foreground once it runs: its stop key could stop the child between fork and exec, and us with it, who wait for
	// the exec.)
	Terminal bool
}

// spawner forks on one OS thread that is never given back: the parent-death signal comes when the thread that forked
// dies, not when the process does (golang/go#27505).
type spawner struct {
	requests chan Spec
	results  chan spawned
}

type spawned struct {
	pid int
	err error
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan Spec), results: make(chan spawned)}
	crash.Go(func() {
		runtime.LockOSThread()
		for spec := range s.requests {
			pid, err := forkExec(spec)
			s.results <- spawned{pid, err}
		}
	})
	return s
}

func (s *spawner) start(spec Spec) (int, error) {
	s.requests <- spec
	r := <-s.results
	return r.pid, r.err
}

// forkExec returns when the new program runs or could not be run. There is no moment at which the child exists under
// a process group or session that it is still to leave, so no signal sent after this can miss it.
func forkExec(spec Spec) (int, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if spec.NewSession {
		attr.Setsid = true
		attr.Setctty = spec.Terminal // Ctty 0: the child's descriptor 0
	} else {
		attr.Setpgid = true
	}
	procAttr := &syscall.ProcAttr{Dir: spec.Dir, Env: spec.Env, Files: spec.Files, Sys: attr}
	pid, err := syscall.ForkExec(spec.Path, spec.Argv, procAttr)
	if err == syscall.ENOEXEC && isScript(in(spec.Dir, spec.Path)) {
		// execvp(3) hands a script without "#!" to the shell, and images rely on it.
		pid, err = syscall.ForkExec("/bin/sh", append([]string{"/bin/sh", spec.Path}, spec.Argv[1:]...), procAttr)
	}
	if err != nil {
		return 0, startError(spec.Path, spec.Dir, err)
	}
	return pid, nil
}
