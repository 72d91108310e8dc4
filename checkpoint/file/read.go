// Package file knows the structure of the single files that checkpoints consist of, and whether such a file is whole.
//
// Its functions are pure: they read parts of a file of a known size, execute nothing, and hold little of it in memory
// whatever the file says. What is wrong with a file is a [problem.Error], which does not name the file; any other error
// is one of reading, and says nothing about the file.
package file

import (
	"io"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// readAt fills b with what lies at the offset. A file that ends before it was cut since its size was taken.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		return problem.New(problem.Truncated, "it ends at byte %d while it is read", at+int64(n))
	}
	return err
}
