package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Castagnoli is the polynomial of the CRCs in tables and bundles, see [Unmask]. It is no variable: to make it takes a
// tenth of a millisecond, which every start of the program would pay. The library makes it once.
func Castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// ErrCompressed says that a table is compressed, and so not readable here. TensorFlow never wrote such an index.
var ErrCompressed = errors.New("the table is compressed")

// The form is that of LevelDB's doc/table_format.md: blocks, each followed by its kind and a CRC, then a block of where
// the others are, and a footer with a magic number.
const (
	tableFooter  = 48
	tableMagic   = 0xdb4775248b80fb57
	blockTrailer = 5 // one byte for the compression, four for the CRC
	// maxBlock bounds one block, and so the memory. TensorFlow begins a new one after 256 KiB.
	maxBlock = 16 << 20
	// maxKey bounds a key, which is the name of a tensor.
	maxKey = 64 << 10
)

// Unmask undoes what LevelDB does to a CRC before it stores it.
func Unmask(stored uint32) uint32 {
	rotated := stored - 0xa282ead8
	return rotated>>17 | rotated<<15
}

// handle says where a block is.
type handle struct{ at, size int64 }

func readHandle(b []byte) (h handle, rest []byte, ok bool) {
	at, n := binary.Uvarint(b)
	if n <= 0 {
		return handle{}, nil, false
	}
	size, m := binary.Uvarint(b[n:])
	if m <= 0 || at > 1<<62 || size > 1<<62 {
		return handle{}, nil, false
	}
	return handle{int64(at), int64(size)}, b[n+m:], true
}

// within reports whether the block and its trailer end before the offset.
func (h handle) within(end int64) bool {
	return h.at <= end && h.size <= end-h.at && blockTrailer <= end-h.at-h.size
}

// TableEnds reads the footer of a table of this size in bytes.
func TableEnds(r io.ReaderAt, size int64) error {
	_, err := tableIndex(r, size)
	return err
}

// tableIndex reads the footer and returns where the block of the other blocks is.
func tableIndex(r io.ReaderAt, size int64) (handle, error) {
	switch {
	case size == 0:
		return handle{}, problem.New(problem.EmptyFile, "it is empty")
	case size < tableFooter:
		return handle{}, problem.New(problem.Truncated, "it has %d bytes, at least %d expected", size, tableFooter)
	}
	footer := make([]byte, tableFooter)
	if err := readAt(r, footer, size-tableFooter); err != nil {
		return handle{}, err
	}
	if magic := binary.LittleEndian.Uint64(footer[tableFooter-8:]); magic != tableMagic {
		return handle{}, problem.New(problem.Truncated, "it ends in %016x, %016x expected", magic, uint64(tableMagic))
	}
	_, rest, ok := readHandle(footer[:tableFooter-8]) // of the block of meta data, which is empty
	var index handle
	if ok {
		index, _, ok = readHandle(rest)
	}
	if !ok || !index.within(size-tableFooter) {
		return handle{}, problem.New(problem.BadIndex, "its footer does not say where its index is")
	}
	return index, nil
}

// ReadTable calls entry with every key and value of a table of this size in bytes, in the order of the keys, and compares
// all CRCs. The slices are only good until the next call.
func ReadTable(ctx context.Context, r io.ReaderAt, size int64, entry func(key, value []byte) error) error {
	h, err := tableIndex(r, size)
	if err != nil {
		return err
	}
	index, err := readBlock(r, h)
	if err != nil {
		return err
	}
	var last []byte
	var end int64 // of the blocks so far: none is read twice
	return eachEntry(index, func(_, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, _, ok := readHandle(value)
		if !ok || h.at < end || !h.within(size-tableFooter) {
			return problem.New(problem.BadIndex, "its index names a block that is not in it")
		}
		end = h.at + h.size
		block, err := readBlock(r, h)
		if err != nil {
			return err
		}
		return eachEntry(block, func(key, value []byte) error {
			if last != nil && bytes.Compare(key, last) <= 0 {
				return problem.New(problem.BadIndex, "its keys are not in order at %.64q", key)
			}
			last = append(last[:0], key...)
			if last == nil {
				last = []byte{}
			}
			return entry(key, value)
		})
	})
}

// readBlock reads a block, whose place was checked, without its trailer.
func readBlock(r io.ReaderAt, h handle) ([]byte, error) {
	if h.size > maxBlock {
		return nil, problem.New(problem.BadIndex, "it has a block of %d bytes, at most %d expected", h.size, maxBlock)
	}
	b := make([]byte, h.size+blockTrailer)
	if err := readAt(r, b, h.at); err != nil {
		return nil, err
	}
	stored := Unmask(binary.LittleEndian.Uint32(b[h.size+1:]))
	if sum := crc32.Checksum(b[:h.size+1], Castagnoli()); sum != stored {
		return nil, problem.New(problem.HashMismatch, "its block at byte %d has the CRC %08x, %08x expected",
			h.at, sum, stored)
	}
	if b[h.size] != 0 {
		return nil, ErrCompressed
	}
	return b[:h.size], nil
}

// eachEntry goes through the entries of a block: how much of the key before it shares, its own rest, and the value.
func eachEntry(block []byte, entry func(key, value []byte) error) error {
	bad := problem.New(problem.BadIndex, "a block of it is malformed")
	if len(block) < 4 {
		return bad
	}
	restarts := int64(binary.LittleEndian.Uint32(block[len(block)-4:]))
	rest := int64(len(block)) - 4 - 4*restarts
	if rest < 0 {
		return bad
	}
	var key []byte
	for b := block[:rest]; len(b) > 0; {
		var n [3]uint64 // bytes of the key that are shared, of its own, of the value
		for i := range n {
			v, used := binary.Uvarint(b)
			if used <= 0 || v > maxBlock {
				return bad
			}
			n[i], b = v, b[used:]
		}
		if n[0] > uint64(len(key)) || n[0]+n[1] > maxKey || n[1]+n[2] > uint64(len(b)) {
			return bad
		}
		key = append(key[:n[0]], b[:n[1]]...)
		if err := entry(key, b[n[1]:n[1]+n[2]]); err != nil {
			return err
		}
		b = b[n[1]+n[2]:]
	}
	return nil
}
