//go:build !slim

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	checkpoints "github.com/gangrun/gangrun/checkpoint/remote"
	"github.com/gangrun/gangrun/cmd/gangrun/command"
	"github.com/gangrun/gangrun/rendezvous/meeting/remote"
)

func main() {
	code, err := command.Run(os.Args, remote.Open, openTree)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gangrun:", err)
	}
	os.Exit(code)
}

// openTree opens checkpoints in an object store or behind a web server.
func openTree(ctx context.Context, url string) (fs.FS, error) {
	return checkpoints.Open(ctx, url, checkpoints.Options{})
}
