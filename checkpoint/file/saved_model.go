package file

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// maxGraphs bounds the fields at the top of a SavedModel, which are its version and its graphs.
const maxGraphs = 1024

// SavedModel looks at the outermost fields of a saved_model.pb, by tensorflow/core/protobuf/saved_model.proto: they have
// to end where the file does.
func SavedModel(r io.ReaderAt, size int64) error {
	if size == 0 {
		return problem.New(problem.EmptyFile, "it is empty")
	}
	var buffer [2 * binary.MaxVarintLen64]byte
	at := int64(0)
	for range maxGraphs {
		if at == size {
			return nil
		}
		b := buffer[:min(int64(len(buffer)), size-at)]
		if err := readAt(r, b, at); err != nil {
			return err
		}
		tag, n := binary.Uvarint(b)
		value, m := uint64(0), 0
		if n > 0 {
			value, m = binary.Uvarint(b[n:])
		}
		switch {
		case n <= 0 || m <= 0:
			if len(b) < len(buffer) {
				return problem.New(problem.Truncated, "it ends within a field at byte %d", at)
			}
			return problem.New(problem.BadIndex, "no field of protobuf at byte %d", at)
		case tag == 1<<3: // its version
			at += int64(n + m)
		case tag == 2<<3|2: // a graph
			if at += int64(n + m); value > math.MaxInt64 || int64(value) > size-at {
				return problem.New(problem.Truncated, "its graph has %d bytes, and %d are there", value, size-at)
			}
			at += int64(value)
		default:
			return problem.New(problem.BadIndex, "an unknown field at byte %d", at)
		}
	}
	return problem.New(problem.BadIndex, "more than %d graphs", maxGraphs)
}
