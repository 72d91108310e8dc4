package command

import (
	"fmt"
	"strings"

	"github.com/gangrun/gangrun/exitcodes"
)

// signalAdvice is what a person can do about a worker that a signal has killed, by the signal's name.
var signalAdvice = map[string]string{
	"SIGABRT": "read the lines above it: a library in C or C++ has ended the program, usually with a message",
	"SIGBUS":  "check the space of /dev/shm and of the volumes: a file that was mapped into memory has become shorter, or could not grow",
	"SIGFPE":  "look for a division of whole numbers by zero, in the code or in a native library",
	"SIGILL":  "check that the libraries in the image were built for this machine's processor",
	"SIGKILL": "find out who sent it: the kernel, for memory (gangrun doctor says whether its log can be read here); the kubelet, after the grace " +
		"period; a person or a script",
	"SIGPIPE": "look for what was to read its output, and has ended",
	"SIGSEGV": "nothing at first; if native code crashes again, read the stacks in the output, and look for mismatched versions of native libraries",
	"SIGSYS":  "allow the system call in the seccomp profile of the container",
	"SIGTRAP": "look for a debugger, or for an assertion in native code",
	"SIGXCPU": "raise the limit of processor time (ulimit -t)",
	"SIGXFSZ": "raise the limit of file sizes (ulimit -f), or write smaller files",
}

const lastSignal = 64

// diedBy finds the signal of which a reason says that a worker died by it.
func diedBy(reason string) (signal int, found bool) {
	for n := 1; n <= lastSignal; n++ {
		if strings.EqualFold(reason, exitcodes.SignalReason(n)) {
			return n, true
		}
	}
	return 0, false
}

// adviceOnSignal is the advice on a worker that died by this signal.
func adviceOnSignal(n int) advice {
	name := exitcodes.SignalName(n)
	do, found := signalAdvice[name]
	if !found {
		do = "find out who sent it: a person, a script or the worker itself"
	}
	return advice{fmt.Sprintf("a worker died by %s, and nothing is known to have sent it", name), do}
}
