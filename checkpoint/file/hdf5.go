package file

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// HDF5 is what the superblock of an HDF5 file says of the file, by version 4 of the HDF5 file format specification.
type HDF5 struct {
	// Version is that of the superblock: 0 or 1 of HDF5 1.6 and 1.8 (and of h5py unless asked otherwise), 2 or 3 later.
	Version int
	// End is where the file ends by its own word, an offset from the beginning of the file.
	End int64

	base int64 // what all addresses within the file count from
	heap int64 // of the names in the root group, -1 when there is none in this form
	tree int64 // of its symbols, the same
	wide int   // bytes of an address
	long int   // bytes of a length
}

const (
	hdf5Signature = "\x89HDF\r\n\x1a\n"
	// hdf5MaxUserBlock bounds what may be before the superblock, which is at 0, 512, 1024 and so on.
	hdf5MaxUserBlock = 1 << 20
	// hdf5MaxSuperblock is how long a superblock of any version is at most, with addresses of eight bytes.
	hdf5MaxSuperblock = 24 + 4 + 4*8 + 40
	// hdf5MaxNames bounds the bytes of the names in the root group that are read.
	hdf5MaxNames = 64 << 10
)

// ReadHDF5 reads the superblock of an HDF5 file of this size in bytes, and compares the end of the file that is noted in
// it, which the library writes last of all, with the size. sum says that its checksum is to be compared, too, which only
// the versions 2 and 3 have. What is wrong is a [problem.Error].
func ReadHDF5(r io.ReaderAt, size int64, sum bool) (HDF5, error) {
	if size == 0 {
		return HDF5{}, problem.New(problem.EmptyFile, "it is empty")
	}
	head, at, err := hdf5Superblock(r, size)
	if err != nil {
		return HDF5{}, err
	}
	h := HDF5{Version: int(head[8]), heap: -1, tree: -1}
	var open bool // whether the file was not closed by who wrote it
	switch f := (fields{b: head, at: 13}); h.Version {
	case 0, 1:
		h.wide, h.long = int(f.uint(1)), int(f.uint(1))
		f.at = 20
		open = f.uint(4)&1 != 0
		if h.Version == 1 {
			f.at += 4
		}
		if err = hdf5Widths(h.wide, h.long); err != nil {
			return HDF5{}, err
		}
		h.base = f.address(h.wide)
		f.address(h.wide) // of the free space
		h.End = f.address(h.wide)
		f.address(h.wide) // of the driver
		f.address(h.wide) // of the name of the root group
		f.address(h.wide) // of its header
		if kind := f.uint(4); kind == 1 {
			f.uint(4)
			h.tree = f.address(h.wide)
			h.heap = f.address(h.wide)
		}
		if f.short {
			return HDF5{}, problem.New(problem.Truncated, "it ends within its superblock")
		}
	case 2, 3:
		f.at = 9
		h.wide, h.long = int(f.uint(1)), int(f.uint(1))
		open = f.uint(1)&1 != 0
		if err = hdf5Widths(h.wide, h.long); err != nil {
			return HDF5{}, err
		}
		h.base = f.address(h.wide)
		f.address(h.wide) // of the extension
		h.End = f.address(h.wide)
		f.address(h.wide) // of the root group
		n := f.at
		want := uint32(f.uint(4))
		if f.short {
			return HDF5{}, problem.New(problem.Truncated, "it ends within its superblock")
		}
		if got := lookup3(head[:n]); sum && got != want {
			return HDF5{}, problem.New(problem.HashMismatch,
				"the superblock has the checksum %08x, and %08x is noted in it", got, want)
		}
	default:
		return HDF5{}, problem.New(problem.BadIndex, "the superblock is of version %d, 0 to 3 expected", h.Version)
	}
	switch {
	case h.base < 0 || h.End < at || h.base > at:
		return HDF5{}, problem.New(problem.BadIndex, "the superblock at %d has no sensible addresses: base %d, end %d",
			at, h.base, h.End)
	case size < h.End:
		return HDF5{}, problem.New(problem.Truncated, "it has %d bytes, and %d by its superblock", size, h.End)
	case open:
		return HDF5{}, problem.New(problem.InProgress, "by its superblock it is open for writing, or was never closed")
	case size > h.End:
		return HDF5{}, problem.New(problem.SizeMismatch, "it has %d bytes, and %d by its superblock", size, h.End)
	}
	return h, nil
}

// hdf5Superblock finds the superblock and returns it from its signature on, as far as the file goes, and where it is.
func hdf5Superblock(r io.ReaderAt, size int64) ([]byte, int64, error) {
	buffer := make([]byte, hdf5MaxSuperblock)
	for at := int64(0); at <= min(hdf5MaxUserBlock, size-1); at = max(512, 2*at) {
		head := buffer[:min(int64(len(buffer)), size-at)]
		if err := readAt(r, head, at); err != nil {
			return nil, 0, err
		}
		if bytes.HasPrefix(head, []byte(hdf5Signature)) {
			if len(head) < len(hdf5Signature)+4 {
				return nil, 0, problem.New(problem.Truncated, "it ends within its superblock")
			}
			return head, at, nil
		}
		if len(head) < len(hdf5Signature) && at == 0 {
			return nil, 0, problem.New(problem.Truncated, "it has %d bytes, too few for HDF5", size)
		}
	}
	return nil, 0, problem.New(problem.BadIndex, "it has no signature of HDF5")
}

func hdf5Widths(wide, long int) error {
	for _, n := range []int{wide, long} {
		if n != 2 && n != 4 && n != 8 {
			return problem.New(problem.BadIndex, "the superblock has addresses of %d and lengths of %d bytes", wide, long)
		}
	}
	return nil
}

// Names lists the names in the root group, none when the group is not in the form that superblocks of the versions 0 and
// 1 come with. Names of what was deleted may be among them.
func (h HDF5) Names(r io.ReaderAt) ([]string, error) {
	if h.heap < 0 || h.heap > h.End-h.base {
		return nil, nil
	}
	head := make([]byte, 8+2*8+8)
	head = head[:min(int64(len(head)), h.End-h.base-h.heap)]
	if err := readAt(r, head, h.base+h.heap); err != nil {
		return nil, err
	}
	f := fields{b: head, at: 8}
	n := f.address(h.long)
	f.address(h.long) // of what is free
	at := f.address(h.wide)
	if f.short || !bytes.HasPrefix(head, []byte("HEAP")) {
		return nil, problem.New(problem.BadIndex, "there is no heap of names at %d", h.base+h.heap)
	}
	if at < 0 || n < 0 || at > h.End-h.base || n > h.End-h.base-at {
		return nil, problem.New(problem.BadIndex, "the heap of names, of %d bytes at %d, is not within the file", n, at)
	}
	data := make([]byte, min(n, hdf5MaxNames))
	if err := readAt(r, data, h.base+at); err != nil {
		return nil, err
	}
	var names []string
	for part := range bytes.SplitSeq(data, []byte{0}) {
		if len(part) > 0 {
			names = append(names, string(part))
		}
	}
	return names, nil
}

// fields reads little-endian numbers one after another. short says that there were too few bytes.
type fields struct {
	b     []byte
	at    int
	short bool
}

func (f *fields) uint(n int) uint64 {
	if f.at+n > len(f.b) {
		f.short = true
		return 0
	}
	var eight [8]byte
	copy(eight[:], f.b[f.at:f.at+n])
	f.at += n
	return binary.LittleEndian.Uint64(eight[:])
}

// address is a number that fits into an int64, -1 when it does not or when it is the address of nothing.
func (f *fields) address(n int) int64 {
	v := f.uint(n)
	if v > math.MaxInt64>>1 || v == 1<<(8*n)-1 {
		return -1
	}
	return int64(v)
}

// ZeroHalf looks whether the second half of a file is zeros: what a machine that lost its power had not written. HDF5 has
// no checksums of its data. Samples all over it tell; half of a file of nothing but zeros is no training's.
func ZeroHalf(r io.ReaderAt, size int64) error {
	const samples, length, least = 64, 512, 16 << 10
	if size < least {
		return nil
	}
	b := make([]byte, length)
	for i := range int64(samples) {
		at := size/2 + (size-size/2-length)*i/(samples-1)
		if err := readAt(r, b, at); err != nil {
			return err
		}
		if len(bytes.Trim(b, "\x00")) > 0 {
			return nil
		}
	}
	return problem.New(problem.Truncated, "its second half is zeros")
}
