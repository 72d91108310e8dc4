package file

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

const (
	localSignature     = "PK\x03\x04"
	entrySignature     = "PK\x01\x02"
	endSignature       = "PK\x05\x06"
	end64Signature     = "PK\x06\x06"
	locator64Signature = "PK\x06\x07"

	localSize     = 30
	entrySize     = 46
	endSize       = 22
	end64Size     = 56
	locator64Size = 20

	// maxDirectory bounds the directory of a zip, which is read as a stream: it bounds time, not memory.
	maxDirectory = 256 << 20
)

// Zip is a zip archive whose directory lies where it has to. It is for one goroutine.
type Zip struct {
	r         io.ReaderAt
	directory int64 // where it begins
	end       int64 // where it ends
	Entries   int64
	buf       []byte
}

// Entry is what the directory of a zip says of one file in it.
type Entry struct {
	Name         string
	Method       uint16
	CRC          uint32
	Size, Packed int64 // bytes
	header       int64 // where the local header lies
}

// IsZip reports whether a file that begins like this may be a zip with something in it.
func IsZip(head []byte) bool { return bytes.HasPrefix(head, []byte(localSignature)) }

// OpenZip looks at both ends of a zip and no further. It is stricter than [archive/zip], which takes a zip with something
// after its end: nothing may follow the record that is written last, nor lie between it and the directory.
func OpenZip(r io.ReaderAt, size int64) (*Zip, error) {
	if size == 0 {
		return nil, problem.New(problem.EmptyFile, "it is empty")
	}
	var head [len(localSignature)]byte
	if n := min(size, int64(len(head))); n < int64(len(head)) {
		return nil, problem.New(problem.Truncated, "it has %d bytes, a zip has more", n)
	}
	if err := readAt(r, head[:], 0); err != nil {
		return nil, err
	}
	if !IsZip(head[:]) {
		return nil, problem.New(problem.BadZip, "it begins with % x, not as a zip does", head)
	}
	// All three records that may stand at the end, one directly after the other.
	tail := make([]byte, min(size, end64Size+locator64Size+endSize))
	if err := readAt(r, tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	if len(tail) < endSize || !bytes.HasPrefix(tail[len(tail)-endSize:], []byte(endSignature)) {
		return nil, noEnd(r, size)
	}
	end := tail[len(tail)-endSize:]
	if n := binary.LittleEndian.Uint16(end[20:]); n != 0 {
		return nil, problem.New(problem.Truncated, "%d more bytes of a comment expected at its end", n)
	}
	z := &Zip{
		r:         r,
		Entries:   int64(binary.LittleEndian.Uint16(end[10:])),
		directory: int64(binary.LittleEndian.Uint32(end[16:])),
		end:       size - endSize,
	}
	length := int64(binary.LittleEndian.Uint32(end[12:]))
	if len(tail) == end64Size+locator64Size+endSize &&
		bytes.HasPrefix(tail[end64Size:], []byte(locator64Signature)) {
		z.end -= locator64Size + end64Size
		at, end64 := binary.LittleEndian.Uint64(tail[end64Size+8:]), tail[:end64Size]
		if at != uint64(z.end) || !bytes.HasPrefix(end64, []byte(end64Signature)) {
			return nil, problem.New(problem.BadZip, "its ZIP64 record is expected at byte %d, and said to be at %d", z.end, at)
		}
		z.Entries = int64(binary.LittleEndian.Uint64(end64[32:]))
		length = int64(binary.LittleEndian.Uint64(end64[40:]))
		z.directory = int64(binary.LittleEndian.Uint64(end64[48:]))
	}
	switch {
	case z.directory < 0 || length < 0 || z.directory > z.end || z.end-z.directory != length:
		return nil, problem.New(problem.BadZip, "its directory is said to be %d bytes at byte %d, and to end at byte %d", length,
			z.directory, z.end)
	case length > maxDirectory:
		return nil, problem.New(problem.BadZip, "its directory has %d bytes, at most %d expected", length, maxDirectory)
	case z.Entries < 0 || z.Entries > length/entrySize:
		return nil, problem.New(problem.BadZip, "its directory of %d bytes is said to have %d entries", length, z.Entries)
	}
	return z, nil
}

// DirectorySize is how many bytes have to be read to know the names in it.
func (z *Zip) DirectorySize() int64 { return z.end - z.directory }

// noEnd says why a zip has no record at its end: it was cut, or something follows the record.
func noEnd(r io.ReaderAt, size int64) error {
	tail := make([]byte, min(size, windowSize))
	if err := readAt(r, tail, size-int64(len(tail))); err != nil {
		return err
	}
	if i := bytes.LastIndex(tail, []byte(endSignature)); i >= 0 && len(tail)-i > endSize {
		if comment := binary.LittleEndian.Uint16(tail[i+20:]); comment == 0 {
			return problem.New(problem.BadZip, "%d bytes follow the record that ends a zip", len(tail)-i-endSize)
		}
	}
	return problem.New(problem.Truncated, "no directory at its end, where a zip has it (%d bytes)", size)
}

// Each reads the directory and calls visit for every entry, in order. Every entry lies before the directory.
func (z *Zip) Each(visit func(Entry) error) error {
	w := newWindow(z.r, z.directory, z.end)
	for n := range z.Entries {
		e, err := readEntry(w)
		if w.err == errShort {
			return problem.New(problem.BadZip, "its directory ends within entry %d of %d", n+1, z.Entries)
		}
		if w.err != nil {
			return w.err
		}
		if err != nil {
			return err
		}
		// What the local header adds to the name is not known here.
		if least := localSize + int64(len(e.Name)); e.header < 0 || e.Packed < 0 || e.Size < 0 ||
			e.header > z.directory-least || e.Packed > z.directory-least-e.header {
			return problem.New(problem.BadZip, "%q is said to have %d bytes at byte %d, but the directory begins at %d", e.Name,
				e.Packed, e.header, z.directory)
		}
		if err := visit(e); err != nil {
			return err
		}
	}
	if w.left() != 0 {
		return problem.New(problem.BadZip, "%d bytes follow the %d entries of its directory", w.left(), z.Entries)
	}
	return nil
}

func readEntry(w *window) (e Entry, err error) {
	h := w.take(entrySize)
	if h == nil {
		return e, nil
	}
	if !bytes.HasPrefix(h, []byte(entrySignature)) {
		return e, problem.New(problem.BadZip, "no entry of its directory at byte %d", w.offset()-entrySize)
	}
	e.Method = binary.LittleEndian.Uint16(h[10:])
	e.CRC = binary.LittleEndian.Uint32(h[16:])
	packed, size := binary.LittleEndian.Uint32(h[20:]), binary.LittleEndian.Uint32(h[24:])
	header := binary.LittleEndian.Uint32(h[42:])
	e.Packed, e.Size, e.header = int64(packed), int64(size), int64(header)
	name, extra := int(binary.LittleEndian.Uint16(h[28:])), int(binary.LittleEndian.Uint16(h[30:]))
	comment := binary.LittleEndian.Uint16(h[32:])
	e.Name = string(w.take(name))
	for rest := w.take(extra); len(rest) >= 4; {
		id, n := binary.LittleEndian.Uint16(rest), int(binary.LittleEndian.Uint16(rest[2:]))
		if rest = rest[4:]; n > len(rest) {
			break
		}
		field := rest[:n]
		rest = rest[n:]
		if id != 1 {
			continue
		}
		// The fields that do not fit elsewhere, in this order.
		for _, f := range []struct {
			small uint32
			big   *int64
		}{{size, &e.Size}, {packed, &e.Packed}, {header, &e.header}} {
			if f.small == 1<<32-1 && len(field) >= 8 {
				*f.big = int64(binary.LittleEndian.Uint64(field))
				field = field[8:]
			}
		}
	}
	w.skip(uint64(comment))
	return e, nil
}

// data is where the bytes of an entry lie.
func (z *Zip) data(e Entry) (from, end int64, err error) {
	w := newWindow(z.r, e.header, z.directory)
	w.allocate = min(w.allocate, localSize+1<<10)
	h := w.take(localSize)
	if h == nil {
		return 0, 0, z.misplaced(e, w.err)
	}
	if !bytes.HasPrefix(h, []byte(localSignature)) {
		return 0, 0, problem.New(problem.BadZip, "%q does not begin at byte %d, where the directory has it", e.Name, e.header)
	}
	name, extra := int(binary.LittleEndian.Uint16(h[26:])), binary.LittleEndian.Uint16(h[28:])
	if name != len(e.Name) {
		return 0, 0, problem.New(problem.BadZip, "%q has another name at byte %d", e.Name, e.header)
	}
	w.skip(uint64(name) + uint64(extra))
	if w.err != nil || w.left() < e.Packed {
		return 0, 0, z.misplaced(e, w.err)
	}
	return w.offset(), w.offset() + e.Packed, nil
}

func (z *Zip) misplaced(e Entry, err error) error {
	if err != nil && err != errShort {
		return err
	}
	return problem.New(problem.BadZip, "%q runs into the directory", e.Name)
}

// Verify reads an entry and compares its checksum. Torch can be told to leave checksums out (set_crc32_options in
// torch/serialization.py), and then a zero stands for one. read is told how much was read; its error ends it.
func (z *Zip) Verify(e Entry, read func(n int) error) error {
	if z.buf == nil {
		z.buf = make([]byte, 256<<10)
	}
	from, end, err := z.data(e)
	if err != nil {
		return err
	}
	var (
		reader = &plainReader{r: z.r, at: from, end: end, read: read}
		source io.Reader
	)
	switch e.Method {
	case 0:
		source = reader
	case 8:
		// Never more than what is said to come out.
		source = io.LimitReader(flate.NewReader(reader), e.Size+1)
	default:
		return nil
	}
	sum := crc32.NewIEEE()
	n, err := io.CopyBuffer(sum, source, z.buf)
	switch {
	case reader.err != nil:
		return reader.err
	case err != nil:
		return problem.New(problem.BadZip, "%q cannot be unpacked: %v", e.Name, err)
	case n != e.Size:
		return problem.New(problem.BadZip, "%q has %d bytes, %d expected", e.Name, n, e.Size)
	case e.CRC != 0 && sum.Sum32() != e.CRC:
		return problem.New(problem.HashMismatch, "%q has the CRC-32 %08x, %08x expected", e.Name, sum.Sum32(), e.CRC)
	}
	return nil
}

// plainReader reads a part of a file in order, and remembers its own error.
type plainReader struct {
	r       io.ReaderAt
	at, end int64
	read    func(n int) error
	err     error
}

func (p *plainReader) Read(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	b = b[:min(int64(len(b)), p.end-p.at)]
	if len(b) == 0 {
		return 0, io.EOF
	}
	if p.err = readAt(p.r, b, p.at); p.err != nil {
		return 0, p.err
	}
	p.at += int64(len(b))
	if p.read != nil {
		p.err = p.read(len(b))
	}
	return len(b), p.err
}
