package main

import (
	"runtime"
	"syscall"
)

func init() {
	runtime.LockOSThread() // main stays on the process's first thread
}

// headless is a probe as log, without its first thread: the kernel shows it as a zombie, but it lives.
func headless(args []string) {
	go logSignals(args)
	syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}
