package process

import (
	"errors"
	"io"
	"os"
)

// Touch reads the first page of a program that Find has found and, if it is a script, of its interpreter. The fork that starts
// a program blocks all of gangrun until the kernel has read as much, so a caller that does not trust the file server calls
// this first, in a goroutine that can be left behind. dir is the working directory. The error is a *StartError if the
// program could not be started in any case; the kernel reports other errors better.
func Touch(program, dir string) error {
	for range maxInterpreters {
		at := in(dir, program)
		info, err := os.Stat(at)
		if err != nil {
			return nil
		}
		if !info.Mode().IsRegular() { // a FIFO would not even open
			return &StartError{Path: program, Err: errors.New("is not a regular file"), Code: 126}
		}
		f, err := os.Open(at)
		if err != nil {
			return nil // a program may be started that cannot be read
		}
		_, err = io.ReadFull(f, make([]byte, os.Getpagesize()))
		f.Close()
		interpreter := shebang(at)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) || interpreter == "" {
			return nil
		}
		program = interpreter
	}
	return nil
}

// maxInterpreters is how many times an interpreter may itself be a script: BINPRM_MAX_RECURSION of the kernel.
const maxInterpreters = 5
