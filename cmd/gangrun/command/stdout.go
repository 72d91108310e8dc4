package command

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// stdout is standard output for commands that supervise nothing.
var stdout = &noting{to: os.Stdout}

// noting notes the first error of a write: most of what prints does not look at it.
type noting struct {
	to  *os.File
	err error
}

func (n *noting) Write(p []byte) (int, error) {
	written, err := n.to.Write(p)
	if n.err == nil && !errors.Is(err, unix.EPIPE) { // whoever has closed a pipe has read enough
		n.err = err
	}
	return written, err
}
