package file

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Check reads all bytes of the tensor from its data file and compares them with the CRC in the index. read is told how
// much was read; its error ends it.
func (t BundleTensor) Check(data io.ReaderAt, buffer []byte, read func(n int) error) error {
	if !t.Summed {
		return nil
	}
	r := &progress{io.NewSectionReader(data, t.At, t.Size), read}
	var sum uint32
	var err error
	if t.Strings > 0 {
		sum, err = sumStrings(bufio.NewReaderSize(r, 64<<10), t.Strings, buffer)
	} else {
		var n int64
		sum, n, err = sumBytes(0, r, buffer)
		if err == nil && n < t.Size {
			err = io.ErrUnexpectedEOF
		}
	}
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return problem.New(problem.Truncated, "it ends within %s", t.Name)
	case errors.Is(err, errStrings):
		return problem.New(problem.HashMismatch, "the strings of %s do not have the lengths that are noted in it", t.Name)
	case err != nil:
		return err
	case sum != t.Sum:
		return problem.New(problem.HashMismatch, "%s has the CRC-32C %08x, %08x expected", t.Name, sum, t.Sum)
	}
	return nil
}

// progress tells how much was read.
type progress struct {
	r    io.Reader
	read func(n int) error
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if p.read != nil && n > 0 {
		if err := p.read(n); err != nil {
			return 0, err
		}
	}
	return n, err
}

func sumBytes(sum uint32, r io.Reader, buffer []byte) (uint32, int64, error) {
	var total int64
	for {
		n, err := r.Read(buffer)
		sum = crc32.Update(sum, Castagnoli(), buffer[:n])
		total += int64(n)
		if err == io.EOF {
			return sum, total, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

var errStrings = errors.New("malformed strings")

// sumStrings is the CRC of a tensor of strings, by WriteStringTensor in tensor_bundle.cc: all lengths as varints, their
// masked CRC, and then the strings. In the CRCs a length counts as a number of four bytes, or of eight where it is greater.
func sumStrings(r *bufio.Reader, strings int64, buffer []byte) (uint32, error) {
	var sum uint32
	var four [4]byte
	var eight [8]byte
	for range strings {
		n, err := readVarint(r)
		if err != nil {
			return 0, err
		}
		if n <= math.MaxUint32 {
			binary.LittleEndian.PutUint32(four[:], uint32(n))
			sum = crc32.Update(sum, Castagnoli(), four[:])
		} else {
			binary.LittleEndian.PutUint64(eight[:], n)
			sum = crc32.Update(sum, Castagnoli(), eight[:])
		}
	}
	if _, err := io.ReadFull(r, four[:]); err != nil {
		return 0, err
	}
	if Unmask(binary.LittleEndian.Uint32(four[:])) != sum {
		return 0, errStrings
	}
	sum = crc32.Update(sum, Castagnoli(), four[:])
	sum, _, err := sumBytes(sum, r, buffer)
	return sum, err
}

func readVarint(r io.ByteReader) (n uint64, err error) {
	for shift := 0; shift < 64; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, nil
		}
	}
	return 0, errStrings
}
