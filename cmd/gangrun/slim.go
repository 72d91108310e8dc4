//go:build slim

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/cmd/gangrun/command"
	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/signals"
)

// whole is the whole program, as the Makefile has built it.
//
//go:embed whole.bin
var whole string

func main() {
	code, err := command.Run(os.Args, nil, nil)
	if errors.Is(err, command.ErrStoreNeeded) {
		err, code = become(whole), exitcodes.CodeInternalError
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gangrun:", err)
	}
	os.Exit(code)
}

// become replaces this process by another program, from memory: there may be no folder to write to. It returns only on
// an error.
func become(program string) error {
	fd, err := unix.MemfdCreate("gangrun", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "gangrun")
	if _, err := file.WriteString(program); err != nil {
		return fmt.Errorf("the program in memory: %w", err)
	}
	env := append(os.Environ(), signals.HandOver()...)
	return fmt.Errorf("the program in memory: %w", unix.Exec(fmt.Sprintf("/proc/self/fd/%d", fd), os.Args, env))
}
