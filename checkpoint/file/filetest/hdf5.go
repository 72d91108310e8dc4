package filetest

import (
	"encoding/binary"
	"strings"
)

// HDF5 is an HDF5 file with a superblock of version 0, these names in its root group, and nothing that they name.
func HDF5(names ...string) []byte {
	const none = ^uint64(0)
	le := binary.LittleEndian
	heap := strings.Join(append([]string{""}, names...), "\x00") + "\x00"
	const super, head = 96, 32
	size := super + head + len(heap)
	b := append([]byte("\x89HDF\r\n\x1a\n"), 0, 0, 0, 0, 0, 8, 8, 0, 4, 0, 16, 0, 0, 0, 0, 0)
	for _, v := range []uint64{0, none, uint64(size), none} { // base, free space, end, driver
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint64(le.AppendUint64(b, 0), super) // the name and the header of the root group
	b = le.AppendUint32(le.AppendUint32(b, 1), 0)     // the next two are noted here
	b = le.AppendUint64(le.AppendUint64(b, super), super)
	b = append(b, "HEAP\x00\x00\x00\x00"...)
	for _, v := range []uint64{uint64(len(heap)), none, super + head} {
		b = le.AppendUint64(b, v)
	}
	return append(b, heap...)
}
