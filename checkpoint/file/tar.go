package file

import (
	"io"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// TarEnd looks at how a tar file ends: with two blocks of zeros, on a whole number of blocks.
func TarEnd(r io.ReaderAt, size int64) error {
	const block = 512
	if size < 2*block || size%block != 0 {
		return problem.New(problem.Truncated, "it has %d bytes, no whole number of blocks", size)
	}
	var end [2 * block]byte
	if err := readAt(r, end[:], size-int64(len(end))); err != nil {
		return err
	}
	if end != [2 * block]byte{} {
		return problem.New(problem.Truncated, "it does not end with two empty blocks")
	}
	return nil
}
