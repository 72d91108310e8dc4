package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// gate FIFO CMD ARG...: opens the FIFO, waits for a byte on standard input and becomes CMD. Whoever reads the FIFO
// sees it open when this process runs and end at the moment of the exec.
func gate(args []string) {
	if _, err := os.OpenFile(args[0], os.O_WRONLY, 0); err != nil { // Go opens with O_CLOEXEC
		fail("%v", err)
	}
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		fail("%v", err)
	}
	become(args[1:])
}

// ctty CMD ARG...: makes standard input the controlling terminal of a new session and becomes CMD, which is then what
// a container runtime makes of PID 1 when it is asked for a terminal.
func ctty(args []string) {
	if _, err := unix.Setsid(); err != nil {
		fail("setsid: %v", err)
	}
	if err := unix.IoctlSetInt(0, unix.TIOCSCTTY, 0); err != nil {
		fail("TIOCSCTTY: %v", err)
	}
	become(args)
}

func become(argv []string) {
	fail("%s: %v", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
}
