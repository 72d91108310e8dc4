package node

import "github.com/gangrun/gangrun/exitcodes"

// Signal is a signal's number on Linux.
type Signal int

// The signals that mean something here; asm-generic/signal.h, which amd64 and arm64 share.
const (
	SIGHUP  Signal = 1
	SIGINT  Signal = 2
	SIGQUIT Signal = 3
	SIGKILL Signal = 9
	SIGTERM Signal = 15
	SIGCONT Signal = 18
	SIGSTOP Signal = 19
	SIGTSTP Signal = 20
	SIGTTIN Signal = 21
	SIGTTOU Signal = 22
)

// String is the signal's name, as SIGTERM.
func (s Signal) String() string { return exitcodes.SignalName(int(s)) }

// stopsJob reports whether a terminal stops a job with the signal.
func (s Signal) stopsJob() bool { return s == SIGTSTP || s == SIGTTIN || s == SIGTTOU }

// ambiguous reports whether the signal may ask for the end or for something else: a dump of stacks, a new log file.
func (s Signal) ambiguous() bool { return s == SIGHUP || s == SIGQUIT }
