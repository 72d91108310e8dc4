//go:build !slim

package main

import (
	"fmt"
	"os"

	"github.com/gangrun/gangrun/cmd/gangrun/command"
	"github.com/gangrun/gangrun/rendezvous/meeting/remote"
)

func main() {
	code, err := command.Run(os.Args, remote.Open)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gangrun:", err)
	}
	os.Exit(code)
}
