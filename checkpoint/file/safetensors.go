package file

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

const (
	// maxHeader is the library's own bound (MAX_HEADER_SIZE in safetensors/src/tensor.rs).
	maxHeader = 100_000_000
	// maxSpans bounds the ranges that are kept, when they do not follow one another in the order of the header.
	maxSpans = 1 << 20
)

// dtypeBits are the bits of one element (Dtype in safetensors/src/tensor.rs).
var dtypeBits = map[string]int64{
	"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
	"F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
	"C64": 64, "F64": 64, "I64": 64, "U64": 64,
}

type span struct{ begin, end int64 }

// IsSafetensors reports whether a file begins as one of safetensors: with the length of a header, and that.
func IsSafetensors(head []byte) bool {
	if len(head) < 10 {
		return false
	}
	n := binary.LittleEndian.Uint64(head)
	return 2 <= n && n <= maxHeader && head[8] == '{' && head[9] == '"'
}

// SafetensorsHeader looks at how a safetensors file begins, and returns where its header ends.
func SafetensorsHeader(r io.ReaderAt, size int64) (int64, error) {
	if size == 0 {
		return 0, problem.New(problem.EmptyFile, "it is empty")
	}
	var head [9]byte
	if size < int64(len(head)) {
		return 0, problem.New(problem.Truncated, "it has %d bytes, less than any header", size)
	}
	if err := readAt(r, head[:], 0); err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint64(head[:])
	switch {
	case n < 2 || n > maxHeader || head[8] != '{':
		return 0, problem.New(problem.BadSafetensors, "it begins with % x, not with the length of a header and a brace", head)
	case n > uint64(size-8):
		return 0, problem.New(problem.Truncated, "it has %d bytes, its header alone %d", size, n+8)
	}
	return int64(n) + 8, nil
}

// Safetensors reads the header of a safetensors file: what it says of its tensors has to cover the rest of the file,
// without a gap and to its last byte (Metadata.validate and SafeTensors.deserialize in safetensors/src/tensor.rs).
func Safetensors(r io.ReaderAt, size int64) error {
	start, err := SafetensorsHeader(r, size)
	if err != nil {
		return err
	}
	s := &scanner{w: newWindow(r, 8, start)}
	var spans []span
	err = s.object(func(name string, whole bool) error {
		if whole && name == "__metadata__" {
			return s.skip()
		}
		t, err := s.tensor()
		if err != nil {
			return err
		}
		if why := t.wrong(); why != "" {
			return problem.New(problem.BadSafetensors, "its tensor %.100q %s", name, why)
		}
		switch last := len(spans) - 1; {
		case t.begin == t.end:
		case last >= 0 && spans[last].end == t.begin:
			spans[last].end = t.end
		case len(spans) == maxSpans:
			return problem.New(problem.BadSafetensors, "more than %d of its tensors are out of order", maxSpans)
		default:
			spans = append(spans, t.span)
		}
		return nil
	})
	if err == nil {
		err = s.end()
	}
	switch {
	case err == errShort:
		return problem.New(problem.BadSafetensors, "its header of %d bytes ends within its JSON", start-8)
	case errors.Is(err, errJSON):
		return problem.New(problem.BadSafetensors, "its header is %v", err)
	case err != nil:
		return err
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	var end int64
	for _, p := range spans {
		if p.begin != end {
			return problem.New(problem.BadSafetensors, "a tensor begins at byte %d of the data, where byte %d is expected", p.begin,
				end)
		}
		end = p.end
	}
	switch have := size - start; {
	case have < end:
		return problem.New(problem.Truncated, "it has %d bytes, %d expected", size, start+end)
	case have > end:
		return problem.New(problem.SizeMismatch, "it has %d bytes, %d expected", size, start+end)
	}
	return nil
}

// tensor is what a header says of one tensor.
type tensor struct {
	span
	dtype    string
	elements int64 // -1: more than fit
	offsets  int
}

func (s *scanner) tensor() (t tensor, err error) {
	t.elements = 1
	err = s.object(func(key string, _ bool) (err error) {
		switch key {
		case "dtype":
			t.dtype, _, err = s.string()
		case "shape":
			err = s.array(func() error {
				n, err := s.number()
				switch {
				case n == 0 || t.elements == 0:
					t.elements = 0
				case t.elements < 0 || t.elements > (1<<56)/n:
					t.elements = -1
				default:
					t.elements *= n
				}
				return err
			})
		case "data_offsets":
			err = s.array(func() error {
				n, err := s.number()
				if t.offsets++; t.offsets == 1 {
					t.begin = n
				} else {
					t.end = n
				}
				return err
			})
		default:
			err = s.skip()
		}
		return err
	})
	return t, err
}

// wrong says what is wrong with it, nothing when all is right. Of a dtype that is not known the size is not either.
func (t tensor) wrong() string {
	bits, known := dtypeBits[t.dtype]
	switch {
	case t.offsets != 2 || t.end < t.begin:
		return "has no data_offsets from a lower to a higher byte"
	case t.dtype == "":
		return "has no dtype"
	case t.elements < 0 || known && (t.elements*bits+7)/8 != t.end-t.begin:
		return "has other data_offsets than its dtype and shape"
	}
	return ""
}

// maxIndex bounds the index of a model in shards, which is read as a stream.
const maxIndex = 256 << 20

// WeightIndex reads the index of a model in shards and returns the names of its files, sorted
// (src/transformers/utils/hub.py, get_checkpoint_shard_files).
func WeightIndex(r io.ReaderAt, size int64) ([]string, error) {
	switch {
	case size == 0:
		return nil, problem.New(problem.EmptyFile, "it is empty")
	case size > maxIndex:
		return nil, problem.New(problem.BadIndex, "it has %d bytes, at most %d expected", size, maxIndex)
	}
	s := &scanner{w: newWindow(r, 0, size)}
	files := make(map[string]struct{})
	err := s.object(func(key string, _ bool) error {
		if key != "weight_map" {
			return s.skip()
		}
		return s.object(func(tensor string, _ bool) error {
			name, whole, err := s.string()
			if err != nil {
				return err
			}
			if !whole || len(files) == maxKeys {
				return problem.New(problem.BadIndex, "no name of a file for its tensor %.100q", tensor)
			}
			files[strings.Clone(name)] = struct{}{}
			return nil
		})
	})
	if err == nil {
		err = s.end()
	}
	switch {
	case err == errShort:
		return nil, problem.New(problem.BadJSON, "its JSON has no end")
	case errors.Is(err, errJSON):
		return nil, problem.New(problem.BadJSON, "it is %v", err)
	case err != nil:
		return nil, err
	case len(files) == 0:
		return nil, problem.New(problem.BadIndex, "it has no weight_map with files")
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}
