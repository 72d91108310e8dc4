package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// orphan starts a process and ends. When that process has lost its parent it tells who has adopted it, and lives on.
func orphan(args []string) {
	if len(args) == 0 {
		cmd := exec.Command(os.Args[0], "orphan", "child")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGUSR1}
		startReady(cmd)
		os.Exit(0)
	}
	parent := os.Getppid()
	bereaved := make(chan os.Signal, 1)
	signal.Notify(bereaved, syscall.SIGUSR1)
	os.Stdout.WriteString("ready\n")
	for os.Getppid() == parent { // the signal also comes when only a thread of the parent has ended
		<-bereaved
	}
	tell("adopted by %d", os.Getppid())
	logSignals(nil)
}
