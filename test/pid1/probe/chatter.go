package main

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// chatter waits for a byte on standard input, writes BYTES to standard output and as many to standard error whether
// or not anybody reads them, and exits with 7.
func chatter(args []string) {
	size, err := strconv.Atoi(args[0])
	if err != nil {
		fail("%v", err)
	}
	signal.Ignore(syscall.SIGPIPE) // as Python does
	tell("ready")
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		fail("%v", err)
	}
	line := strings.Repeat("x", 1023) + "\n"
	for ; size > 0; size -= len(line) {
		os.Stdout.WriteString(line)
		os.Stderr.WriteString(line)
	}
	tell("said it all")
	os.Exit(7)
}
