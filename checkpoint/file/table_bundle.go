package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Bundle is what the index of a TensorFlow tensor bundle says, by tensorflow/core/protobuf/tensor_bundle.proto.
type Bundle struct {
	// Shards is the number of data files.
	Shards int
	// Ends are how long the data files are at least, in bytes.
	Ends []int64
	// Tensors are all that have bytes of their own, when they were asked for.
	Tensors []BundleTensor
	// Layers is set where its names are of the layers of a model that was saved by itself (Keras's Model.save_weights), and none
	// is of an optimizer or of a count.
	Layers bool
}

// BundleTensor is one tensor in a data file.
type BundleTensor struct {
	Name     string
	Shard    int
	At, Size int64
	// Strings is how many strings the tensor consists of, 0 when its elements have a fixed size.
	Strings int64
	// Sum is the CRC of its bytes by [BundleTensor.Check]. Summed is unset for the type variant, whose sum is made in
	// another way.
	Sum    uint32
	Summed bool
}

const (
	maxBundleShards  = 1 << 16
	maxBundleTensors = 4 << 20
	typeString       = 7  // DT_STRING in types.proto
	typeResource     = 20 // DT_RESOURCE
	typeVariant      = 21 // DT_VARIANT
)

// ReadBundle reads the index of a tensor bundle of this size in bytes. tensors says that all tensors are to be kept.
func ReadBundle(ctx context.Context, r io.ReaderAt, size int64, tensors bool) (*Bundle, error) {
	var b *Bundle
	count := 0
	layers, more := false, false
	err := ReadTable(ctx, r, size, func(key, value []byte) error {
		if b == nil {
			if len(key) != 0 {
				return problem.New(problem.BadIndex, "it begins with %.64q, not with a header", key)
			}
			shards, ok := bundleHeader(value)
			if !ok || shards < 1 || shards > maxBundleShards {
				return problem.New(problem.BadIndex, "its header is malformed")
			}
			b = &Bundle{Shards: int(shards), Ends: make([]int64, shards)}
			return nil
		}
		layers = layers || bytes.HasPrefix(key, []byte("layer_with_weights"))
		more = more || tellsTraining(key)
		t, sliced, ok := bundleEntry(value)
		if !ok {
			return problem.New(problem.BadIndex, "its entry of %.64q is malformed", key)
		}
		if sliced {
			return nil // the slices have entries of their own
		}
		if t.Shard >= b.Shards {
			return problem.New(problem.BadIndex, "%.64q is in data file %d of %d", key, t.Shard, b.Shards)
		}
		b.Ends[t.Shard] = max(b.Ends[t.Shard], t.At+t.Size)
		if !tensors || t.Size == 0 {
			return nil
		}
		if count++; count > maxBundleTensors {
			return problem.New(problem.BadIndex, "it has more than %d tensors", maxBundleTensors)
		}
		t.Name = fmt.Sprintf("%.64q", key)
		b.Tensors = append(b.Tensors, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, problem.New(problem.BadIndex, "it has no header")
	}
	b.Layers = layers && !more
	return b, nil
}

// tellsTraining reports whether a name is that of more than weights.
func tellsTraining(key []byte) bool {
	lower := bytes.ToLower(key)
	for _, word := range []string{"optim", "adam", "iter", "step", "epoch", "learning_rate", "momentum", "/count"} {
		if bytes.Contains(lower, []byte(word)) {
			return true
		}
	}
	return false
}

// bundleHeader reads a BundleHeaderProto.
func bundleHeader(message []byte) (shards uint64, ok bool) {
	ok = protoFields(message, func(field int, number uint64, _ []byte) bool {
		if field == 1 {
			shards = number
		}
		return true
	})
	return shards, ok
}

// bundleEntry reads a BundleEntryProto.
func bundleEntry(message []byte) (t BundleTensor, sliced, ok bool) {
	var kind, shard, at, size uint64
	elements := int64(1)
	ok = protoFields(message, func(field int, number uint64, bytes []byte) bool {
		switch field {
		case 1:
			kind = number
		case 2:
			return protoFields(bytes, func(field int, _ uint64, dimension []byte) bool {
				if field != 2 {
					return true
				}
				var n uint64 // nothing is noted of an empty dimension
				if !protoFields(dimension, func(field int, number uint64, _ []byte) bool {
					if field == 1 {
						n = number
					}
					return true
				}) || n > math.MaxInt64 {
					return false
				}
				if n != 0 && uint64(elements) > math.MaxInt64/n {
					return false
				}
				elements *= int64(n)
				return true
			})
		case 3:
			shard = number
		case 4:
			at = number
		case 5:
			size = number
		case 6:
			t.Sum = Unmask(uint32(number))
		case 7:
			sliced = true
		}
		return true
	})
	if !ok || shard > maxBundleShards || at > math.MaxInt64/2 || size > math.MaxInt64/2 {
		return BundleTensor{}, false, false
	}
	t.Shard, t.At, t.Size = int(shard), int64(at), int64(size)
	t.Summed = kind != typeVariant && kind != typeResource
	if kind == typeString {
		t.Strings = elements
	}
	return t, sliced, true
}

// protoFields calls field for every field of a message in protobuf's wire format, with its number, or its bytes when it
// is a string or a message. It reports whether the message is well-formed and every call was true.
func protoFields(message []byte, field func(field int, number uint64, bytes []byte) bool) bool {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag>>3 == 0 || tag>>3 > math.MaxInt32 {
			return false
		}
		message = message[n:]
		var number uint64
		var bytes []byte
		switch tag & 7 {
		case 0:
			if number, n = binary.Uvarint(message); n <= 0 {
				return false
			}
			message = message[n:]
		case 1:
			if len(message) < 8 {
				return false
			}
			number, message = binary.LittleEndian.Uint64(message), message[8:]
		case 2:
			length, n := binary.Uvarint(message)
			if n <= 0 || length > uint64(len(message)-n) {
				return false
			}
			bytes, message = message[n:n+int(length)], message[n+int(length):]
		case 5:
			if len(message) < 4 {
				return false
			}
			number, message = uint64(binary.LittleEndian.Uint32(message)), message[4:]
		default:
			return false
		}
		if !field(int(tag>>3), number, bytes) {
			return false
		}
	}
	return true
}
