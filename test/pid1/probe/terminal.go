package main

import (
	"bufio"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// terminal tells once it is in the foreground of the terminal on its standard input, then repeats each line it
// reads there and each SIGWINCH. The line "raw" makes the terminal raw and ends it by SIGKILL; "log" makes it name
// SIGINT too, instead of dying of it; "exit" ends it with 7.
func terminal([]string) {
	winch := make(chan os.Signal, 8)
	signal.Notify(winch, syscall.SIGWINCH)
	go func() {
		for s := range winch {
			tell("signal %d", s)
		}
	}()
	awaitForeground()
	tell("foreground")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "raw":
			makeRaw()
			unix.Kill(unix.Getpid(), unix.SIGKILL)
		case "log":
			signal.Notify(winch, syscall.SIGINT)
		case "exit":
			os.Exit(7)
		}
		tell("read %s", in.Text())
	}
	tell("end of input")
	os.Exit(0)
}

// awaitForeground waits until the terminal is this group's: gangrun hands it over right after the start, and nothing tells
// the worker.
func awaitForeground() {
	for {
		group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
		switch {
		case err != nil:
			fail("TIOCGPGRP: %v", err)
		case group == unix.Getpgrp():
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func makeRaw() {
	attr, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		fail("TCGETS: %v", err)
	}
	attr.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
	attr.Oflag &^= unix.OPOST
	if err := unix.IoctlSetTermios(0, unix.TCSETS, attr); err != nil {
		fail("TCSETS: %v", err)
	}
}
