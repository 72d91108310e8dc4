// Package signals receives the signals that the outside world sends to gangrun.
//
// It listens from the earliest moment that Go allows, while the packages of the program are being initialised: a Go
// program that is PID 1 and has not asked for SIGTERM yet is ended by it with code 2, which an operator would read as
// a permanent failure. So this package imports next to nothing and does its work in a variable's initialiser.
package signals

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

// The first real-time signal that may be used: the C library keeps 32 and 33, the Go runtime 34.
const (
	firstRealTime = syscall.Signal(35)
	last          = syscall.Signal(64)
)

// Each signal has a channel of its own, since what does not fit is lost: a flood of one must not push another out, least of
// all SIGTERM.
var (
	each [last + 1]chan os.Signal
	_    = listenEarly()
	rest = listenToRest()
)

// pending is how many of one signal may wait. The kernel keeps one of most.
const pending = 16

func listenEarly() struct{} {
	// Those that would end this process, or that nobody sends twice. Each costs a handshake with another thread.
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGUSR1,
		syscall.SIGUSR2, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGPIPE} {
		listen(sig)
	}
	return struct{}{}
}

// listen leaves alone what was ignored when the process was started, as nohup does with SIGHUP: it stays ignored here
// and in the workers.
func listen(sig syscall.Signal) {
	if each[sig] == nil && ignoredAtStart(sig) {
		return
	}
	if each[sig] == nil {
		each[sig] = make(chan os.Signal, pending)
	}
	signal.Notify(each[sig], sig)
}

// ignoredAtStart asks the kernel: package signal knows of SIGHUP and SIGINT only. Of the others the Go runtime leaves
// just the job control signals alone before we ask for them; what had been ignored besides is lost.
func ignoredAtStart(sig syscall.Signal) bool {
	const ignore = 1 // SIG_IGN
	var action struct {
		handler uintptr // the first field on every architecture that Go runs on
		_       [64]byte
	}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
	return errno == 0 && action.handler == ignore
}

// Ignoring runs f while sig, one of those that pass, is ignored. Nothing may be started meanwhile: it would ignore the
// signal as well.
func Ignoring(sig syscall.Signal, f func()) {
	signal.Ignore(sig)
	f()
	listen(sig)
}

// Defaulting runs f while sig, one of those that pass, has its default action.
func Defaulting(sig syscall.Signal, f func()) {
	signal.Reset(sig)
	f()
	listen(sig)
}

// Passes reports whether the signal can be passed on to a worker. Not among them: SIGKILL and SIGSTOP, which cannot be
// caught; SIGCHLD, which is the reaper's; SIGURG, which the Go runtime sends to itself; SIGPROF and the first real-time
// signals, which it and the C library keep to themselves; SIGPIPE, which is about our own output.
func Passes(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPROF, syscall.SIGPIPE:
		return false
	}
	return sig >= 1 && sig <= syscall.SIGSYS || sig >= firstRealTime && sig <= last
}

// listenToRest asks for every other signal that passes, beside the start of the program.
func listenToRest() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sig := syscall.Signal(1); sig <= last; sig++ {
			if each[sig] == nil && Passes(sig) {
				listen(sig)
			}
		}
	}()
	return done
}

// Listen returns the channel on which every signal that passes comes, once it has been asked for: a worker that is
// started afterwards misses none. SIGPIPE comes too, for the sake of being caught: a write to a closed log pipe must be
// an error, not the end of PID 1.
func Listen() <-chan os.Signal {
	<-rest
	incoming := make(chan os.Signal)
	for _, ch := range each {
		if ch == nil {
			continue
		}
		go func() {
			for sig := range ch {
				incoming <- sig
			}
		}()
	}
	return incoming
}

// Default gives every signal its default action again, for commands that supervise nothing.
func Default() {
	<-rest
	signal.Reset()
}
