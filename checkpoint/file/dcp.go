package file

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

const (
	distcp = ".distcp"
	// maxFiles bounds the files that one .metadata may name.
	maxFiles = 1 << 18
	// maxMetadata bounds a .metadata. It is read as a stream.
	maxMetadata = 4 << 30
)

// DCPItem is the place of one item of a state: that of a key, in one of the files.
type DCPItem struct {
	Key, Path      string
	Offset, Length int64
}

// maxItems bounds the items whose places are kept.
const maxItems = 1 << 10

// DCPMetadata reads a .metadata of torch.distributed.checkpoint: the files that it names, and how many bytes each has
// at least, and where the items lie that want, when it is set, asks for by their keys, but for those that an
// extension of the writer has compressed or the like. Files in which nothing was put are not named. When the pickle
// is more than can be followed the sizes are zero, and no items are found.
func DCPMetadata(r io.ReaderAt, size int64, want func(key string) bool) (map[string]int64, []DCPItem, error) {
	if err := PickleEnds(r, size); err != nil {
		return nil, nil, err
	}
	if size > maxMetadata {
		return nil, nil, problem.New(problem.BadPickle, "it has %d bytes, at most %d expected", size, int64(maxMetadata))
	}
	files := make(map[string]int64)
	full, negative := false, stretch{}
	var items []DCPItem
	keep := func(s string) bool { return isDCPWord(s) || want != nil && want(s) }
	placed := func(s stretch) {
		if want != nil && want(s.item) && !s.transformed && len(items) < maxItems {
			items = append(items, DCPItem{s.item, s.path, s.offset, s.length})
		}
	}
	p := pickle{w: newWindow(r, 0, size), keep: keep, placed: placed, built: func(s stretch) {
		switch {
		case s.path == "":
		case s.offset < 0 || s.length < 0 || s.offset > 1<<62 || s.length > 1<<62:
			negative = s
		default:
			if _, found := files[s.path]; !found && len(files) == maxFiles {
				full = true
				return
			}
			files[s.path] = max(files[s.path], s.offset+s.length)
		}
	}}
	switch err := p.walk(); {
	case err == errTooMuch || full:
		files, err := scanDCP(r, size)
		return files, nil, err
	case err != nil:
		return nil, nil, err
	case p.w.left() > 0:
		return nil, nil, problem.New(problem.BadPickle, "%d bytes follow its pickle", p.w.left())
	case negative.path != "":
		return nil, nil, problem.New(problem.BadPickle, "it has %d bytes at byte %d of %q", negative.length, negative.offset,
			negative.path)
	}
	return files, items, nil
}

// isDCPWord picks the texts that come again and again.
func isDCPWord(s string) bool {
	switch s {
	case "relative_path", "offset", "length", "fqn", "transform_descriptors":
		return true
	}
	return bytes.HasSuffix([]byte(s), []byte(distcp)) || bytes.HasSuffix([]byte(s), []byte(".safetensors"))
}

// scanDCP looks for the names of files alone, wherever they stand.
func scanDCP(r io.ReaderAt, size int64) (map[string]int64, error) {
	const overlap = 5 + maxText // of one text with its opcode and its length
	files := make(map[string]int64)
	buf := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(buf) - overlap) {
		chunk := buf[:min(int64(len(buf)), size-at)]
		if err := readAt(r, chunk, at); err != nil {
			return nil, err
		}
		for from := 0; ; {
			i := bytes.Index(chunk[from:], []byte(distcp))
			if i < 0 {
				break
			}
			from += i + len(distcp)
			if name := textBefore(chunk[:from]); name != "" {
				if files[name] = 0; len(files) > maxFiles {
					return nil, problem.New(problem.BadPickle, "it names more than %d files", maxFiles)
				}
			}
		}
	}
	return files, nil
}

// textBefore is the text that ends where b does, by the opcode and the length that stand before it.
func textBefore(b []byte) string {
	for n := len(distcp) + 1; n <= min(len(b)-2, maxText); n++ {
		at := len(b) - n
		short := b[at-2] == 0x8c && n < 256 && b[at-1] == byte(n)
		if short || at >= 5 && b[at-5] == 'X' && binary.LittleEndian.Uint32(b[at-4:]) == uint32(n) {
			return string(b[at:])
		}
	}
	return ""
}

// DCPShard looks at both ends of what a .metadata names of a file, the last byte of which is before end. Items are written
// one behind another by torch.save, each a zip; with another serialization or compressed they are anything, but no zeros.
func DCPShard(r io.ReaderAt, end int64) error {
	head, tail := make([]byte, min(end, 64)), make([]byte, min(end, endSize))
	if err := readAt(r, head, 0); err != nil {
		return err
	}
	if err := readAt(r, tail, end-int64(len(tail))); err != nil {
		return err
	}
	switch {
	case IsZip(head) && len(tail) == endSize && !bytes.HasPrefix(tail, []byte(endSignature)):
		return problem.New(problem.BadZip, "what ends at byte %d does not end as a zip does", end)
	case !IsZip(head) && end > endSize && len(bytes.Trim(head, "\x00")) == 0 && len(bytes.Trim(tail, "\x00")) == 0:
		return problem.New(problem.BadZip, "it begins and ends with zeros")
	}
	return nil
}
