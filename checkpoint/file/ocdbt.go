package file

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

const (
	ocdbtMagic = 0x0cdb3a2a
	// maxOCDBT bounds a manifest, which is some hundred bytes long.
	maxOCDBT = 64 << 20
)

// OCDBTManifest looks at a manifest of TensorStore's key-value store OCDBT, by tensorstore/kvstore/ocdbt/index.rst: it
// begins with its length. sum says that its CRC, at the end, is to be compared, too.
func OCDBTManifest(r io.ReaderAt, size int64, sum bool) error {
	const least = 4 + 8 + 4 // magic, length, CRC
	switch {
	case size == 0:
		return problem.New(problem.EmptyFile, "it is empty")
	case size < least:
		return problem.New(problem.Truncated, "it has %d bytes, at least %d expected", size, least)
	}
	var head [12]byte
	if err := readAt(r, head[:], 0); err != nil {
		return err
	}
	if magic := binary.BigEndian.Uint32(head[:]); magic != ocdbtMagic {
		return problem.New(problem.BadIndex, "it begins with %08x, %08x expected", magic, ocdbtMagic)
	}
	length := binary.LittleEndian.Uint64(head[4:])
	switch {
	case length > uint64(size):
		return problem.New(problem.Truncated, "it has %d bytes, %d expected", size, length)
	case length < uint64(size):
		return problem.New(problem.SizeMismatch, "it has %d bytes, %d expected", size, length)
	case !sum:
		return nil
	case size > maxOCDBT:
		return problem.New(problem.BadIndex, "it has %d bytes, at most %d expected", size, maxOCDBT)
	}
	data := make([]byte, size)
	if err := readAt(r, data, 0); err != nil {
		return err
	}
	stored := binary.LittleEndian.Uint32(data[size-4:])
	if got := crc32.Checksum(data[:size-4], Castagnoli()); got != stored {
		return problem.New(problem.HashMismatch, "it has the CRC-32C %08x, %08x expected", got, stored)
	}
	return nil
}
