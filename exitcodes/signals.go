package exitcodes

import (
	"fmt"
	"strconv"
	"strings"
)

// The Linux numbers of the signals on the architectures that training runs on (amd64, arm64).
var signalNames = [...]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
	9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
	16: "SIGSTKFLT", 17: "SIGCHLD", 18: "SIGCONT", 19: "SIGSTOP", 20: "SIGTSTP", 21: "SIGTTIN", 22: "SIGTTOU",
	23: "SIGURG", 24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO",
	30: "SIGPWR", 31: "SIGSYS",
}

const (
	sigill, sigtrap, sigabrt, sigbus, sigfpe, sigkill = 4, 5, 6, 7, 8, 9
	sighup, sigint, sigsegv, sigterm, sigsys          = 1, 2, 11, 15, 31
	sigrtmin, sigmax                                  = 34, 64 // glibc keeps 32 and 33 for itself
)

// SignalName is the name of signal n: SIGKILL, SIGRTMIN+3; "signal 99" for a number without a name.
func SignalName(n int) string {
	switch {
	case n > 0 && n < len(signalNames):
		return signalNames[n]
	case n == sigrtmin:
		return "SIGRTMIN"
	case n > sigrtmin && n <= sigmax:
		return fmt.Sprintf("SIGRTMIN+%d", n-sigrtmin)
	}
	return fmt.Sprintf("signal %d", n)
}

// ParseSignal reads a signal's number or name, with or without SIG, in either case: 15, TERM, SIGTERM, SIGRTMIN+3.
func ParseSignal(s string) (int, error) {
	if n, err := strconv.Atoi(s); err == nil {
		if n < 1 || n > sigmax {
			return 0, fmt.Errorf("%d is not a signal; signals are 1 to %d", n, sigmax)
		}
		return n, nil
	}
	name := strings.ToUpper(s)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	switch name {
	case "SIGPOLL":
		name = "SIGIO"
	case "SIGIOT":
		name = "SIGABRT"
	case "SIGCLD":
		name = "SIGCHLD"
	}
	for n := 1; n <= sigmax; n++ {
		if SignalName(n) == name {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%q is not a signal", s)
}

// crash reports whether the signal comes from within: a process that dies of it may have said why.
func crash(signal int) bool {
	switch signal {
	case sigill, sigtrap, sigabrt, sigbus, sigfpe, sigsegv, sigsys:
		return true
	}
	return false
}
