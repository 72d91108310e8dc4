package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func bundleOf(t testing.TB, index []byte) (*Bundle, error) {
	return ReadBundle(context.Background(), strict{t, index}, int64(len(index)), true)
}

func checkTensors(t testing.TB, b *Bundle, data [][]byte) error {
	var sum int
	for _, x := range b.Tensors {
		if err := x.Check(bytes.NewReader(data[x.Shard]), make([]byte, 16), func(n int) error { sum += n; return nil }); err != nil {
			return err
		}
	}
	if sum == 0 {
		t.Error("nothing was read")
	}
	return nil
}

func TestBundleSamples(t *testing.T) {
	for _, test := range []struct {
		name    string
		data    []string
		tensors int
		strings int // tensors of strings
	}{
		{"ck-5", []string{"ck-5.data-00000-of-00002", "ck-5.data-00001-of-00002"}, 4, 0},
		{"ckpt-1", []string{"ckpt-1.data-00000-of-00001"}, 16, 1},
	} {
		index := sample(t, "tensorflow/"+test.name+".index")
		b, err := bundleOf(t, index)
		if err != nil {
			t.Fatal(test.name, err)
		}
		var data [][]byte
		for i, name := range test.data {
			data = append(data, sample(t, "tensorflow/"+name))
			if b.Ends[i] != int64(len(data[i])) {
				t.Errorf("%s is said to have %d bytes, and has %d", name, b.Ends[i], len(data[i]))
			}
		}
		strings := 0
		for _, x := range b.Tensors {
			strings += int(min(x.Strings, 1))
		}
		if b.Shards != len(test.data) || len(b.Tensors) != test.tensors || strings != test.strings {
			t.Errorf("%s: %d shards, %d tensors, %d of strings", test.name, b.Shards, len(b.Tensors), strings)
		}
		if err := checkTensors(t, b, data); err != nil {
			t.Error(err)
		}
		// No bit of a tensor can change unseen.
		for shard := range data {
			for i := range data[shard] {
				data[shard][i] ^= 1
				if err := checkTensors(t, b, data); err == nil || reasonOf(t, err) != problem.HashMismatch && reasonOf(t, err) != problem.Truncated {
					t.Errorf("%s: byte %d of data file %d changed: %v", test.name, i, shard, err)
				}
				data[shard][i] ^= 1
			}
		}
		// No bit of the index can, outside of the block of meta data, in which nothing is, and the footer.
		meta, _, _ := readHandle(index[len(index)-tableFooter:])
		for i := range index {
			nothing := int64(i) >= meta.at && int64(i) < meta.at+meta.size+blockTrailer || i >= len(index)-tableFooter
			index[i] ^= 1
			if _, err := bundleOf(t, index); err == nil && !nothing {
				t.Errorf("%s: byte %d of the index changed unseen", test.name, i)
			} else if err != nil && !errors.Is(err, ErrCompressed) {
				reasonOf(t, err)
			}
			index[i] ^= 1
		}
	}
}

func TestTable(t *testing.T) {
	pairs := []filetest.Pair{{Key: "", Value: "h"}, {Key: "a", Value: ""}, {Key: "aa", Value: "1"}, {Key: "aab", Value: "2"}, {Key: "ab", Value: "3"}, {Key: "b", Value: "four"}}
	for _, size := range []int{1, 5, 1000} {
		b := filetest.Table(size, pairs...)
		var got []filetest.Pair
		err := ReadTable(t.Context(), strict{t, b}, int64(len(b)), func(key, value []byte) error {
			got = append(got, filetest.Pair{Key: string(key), Value: string(value)})
			return nil
		})
		if err != nil || !slices.Equal(got, pairs) {
			t.Errorf("blocks of %d: %q, %v", size, got, err)
		}
	}
}

func TestTableProblems(t *testing.T) {
	good, _ := filetest.Bundle([]string{"first", "second"}, []string{"third"})
	foot := func(b []byte) []byte { return b[len(b)-tableFooter:] }
	resum := func(b []byte, at, size int) {
		sum := crc32.Checksum(b[at:at+size+1], Castagnoli())
		binary.LittleEndian.PutUint32(b[at+size+1:], (sum>>15|sum<<17)+0xa282ead8)
	}
	for _, test := range []struct {
		name   string
		change func(b []byte) []byte
		want   problem.Reason
	}{
		{"whole", func(b []byte) []byte { return b }, ""},
		{"empty", func([]byte) []byte { return nil }, problem.EmptyFile},
		{"one byte", func(b []byte) []byte { return b[:1] }, problem.Truncated},
		{"a byte is missing", func(b []byte) []byte { return b[:len(b)-1] }, problem.Truncated},
		{"zeros follow", func(b []byte) []byte { return append(b, make([]byte, 512)...) }, problem.Truncated},
		{"a hole", func(b []byte) []byte { clear(b[10:20]); return b }, problem.HashMismatch},
		{"an index that is nowhere", func(b []byte) []byte { copy(foot(b), "\x00\x00\xff\xff\xff\xff\x0f\x01"); return b }, problem.BadIndex},
		{"an index longer than the file", func(b []byte) []byte { copy(foot(b), "\x00\x00\x00\xff\xff\xff\xff\x0f"); return b }, problem.BadIndex},
		{"numbers without end in the footer", func(b []byte) []byte {
			for i := range 40 {
				foot(b)[i] = 0xff
			}
			return b
		}, problem.BadIndex},
		{"no header", func([]byte) []byte { return filetest.Table(100, filetest.Pair{Key: "a", Value: "b"}) }, problem.BadIndex},
		{"nothing", func([]byte) []byte { return filetest.Table(100) }, problem.BadIndex},
		{"a malformed header", func([]byte) []byte { return filetest.Table(100, filetest.Pair{Value: "\xff"}) }, problem.BadIndex},
		{"no shard", func([]byte) []byte { return filetest.Table(100, filetest.Pair{Value: "\x08\x00"}) }, problem.BadIndex},
		{"too many shards", func([]byte) []byte { return filetest.Table(100, filetest.Pair{Value: "\x08\xff\xff\xff\xff\x0f"}) }, problem.BadIndex},
		{"a malformed entry", func([]byte) []byte {
			return filetest.Table(100, filetest.Pair{Value: "\x08\x01"}, filetest.Pair{Key: "a", Value: "\x08"})
		}, problem.BadIndex},
		{"an entry of another shard", func([]byte) []byte {
			return filetest.Table(100, filetest.Pair{Value: "\x08\x01"}, filetest.Pair{Key: "a", Value: "\x18\x01"})
		}, problem.BadIndex},
		{"an offset past all files", func([]byte) []byte {
			return filetest.Table(100, filetest.Pair{Value: "\x08\x01"}, filetest.Pair{Key: "a", Value: "\x20\xff\xff\xff\xff\xff\xff\xff\xff\x7f"})
		}, problem.BadIndex},
		{"keys in the wrong order", func([]byte) []byte {
			return filetest.Table(1, filetest.Pair{Value: "\x08\x01"}, filetest.Pair{Key: "b"}, filetest.Pair{Key: "a"})
		}, problem.BadIndex},
		{"more shared than there is", func([]byte) []byte {
			b := filetest.Table(100, filetest.Pair{Value: "\x08\x01"})
			b[0] = 7 // shared with the key before the first
			resum(b, 0, 3+2+8)
			return b
		}, problem.BadIndex},
	} {
		b := test.change(bytes.Clone(good))
		_, err := bundleOf(t, b)
		if got := reasonOf(t, err); got != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		if err := TableEnds(strict{t, b}, int64(len(b))); test.want == problem.Truncated && reasonOf(t, err) != test.want {
			t.Errorf("%s: %v at its end, want %s", test.name, err, test.want)
		}
	}
	b := bytes.Clone(good)
	h, err := tableIndex(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	b[h.at+h.size] = 1
	resum(b, int(h.at), int(h.size))
	if _, err := bundleOf(t, b); !errors.Is(err, ErrCompressed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadBundle(ctx, bytes.NewReader(good), int64(len(good)), true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What is not read is not told, and an error of who is told ends it.
func TestBundleRead(t *testing.T) {
	index, data := filetest.Bundle([]string{"0123456789"})
	b, err := bundleOf(t, index)
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	if err := b.Tensors[0].Check(bytes.NewReader(data[0]), make([]byte, 4), func(int) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := b.Tensors[0].Check(bytes.NewReader(data[0][:5]), make([]byte, 4), nil); reasonOf(t, err) != problem.Truncated {
		t.Error(err)
	}
	variant := BundleTensor{Size: 10} // its sum is made otherwise
	if err := variant.Check(bytes.NewReader(nil), nil, nil); err != nil {
		t.Error(err)
	}
}

// Lengths of strings are numbers of any length, and each is in the sum with four bytes or with eight.
func TestBundleStrings(t *testing.T) {
	for _, test := range []struct {
		name string
		data string
		want problem.Reason
	}{
		{"too long a number", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", problem.HashMismatch},
		{"no end", "\xff", problem.Truncated},
		{"other lengths than in the sum", "\x01\x00\x00\x00\x00a", problem.HashMismatch},
	} {
		x := BundleTensor{Size: int64(len(test.data)), Strings: math.MaxInt64, Summed: true}
		if test.want == problem.HashMismatch {
			x.Strings = 1
		}
		if err := x.Check(bytes.NewReader([]byte(test.data)), make([]byte, 16), nil); reasonOf(t, err) != test.want {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add(sample(f, "tensorflow/ck-5.index"), sample(f, "tensorflow/ck-5.data-00001-of-00002"))
	f.Add(sample(f, "tensorflow/ckpt-1.index"), sample(f, "tensorflow/ckpt-1.data-00000-of-00001"))
	index, data := filetest.Bundle([]string{"first", "second"}, []string{"third"})
	f.Add(index, data[0])
	f.Fuzz(func(t *testing.T, index, data []byte) {
		b, err := bundleOf(t, index)
		if errors.Is(err, ErrCompressed) || reasonOf(t, err) != "" {
			return
		}
		for _, x := range b.Tensors {
			if x.At+x.Size <= int64(len(data)) {
				reasonOf(t, x.Check(strict{t, data}, make([]byte, 64), nil))
			}
		}
	})
}

// FuzzTableBlock gets behind the sums.
func FuzzTableBlock(f *testing.F) {
	f.Add([]byte("\x00\x00\x02\x08\x01\x00\x00\x00\x00\x01\x00\x00\x00"), []byte("\x08\x07\x12\x04\x12\x02\x08\x03\x28\x07"))
	f.Fuzz(func(t *testing.T, block, entry []byte) {
		reasonOf(t, eachEntry(block, func(key, value []byte) error {
			bundleEntry(value)
			return nil
		}))
		x, _, ok := bundleEntry(entry)
		if ok && (x.At < 0 || x.Size < 0 || x.At+x.Size < 0 || x.Shard < 0 || x.Strings < 0) {
			t.Errorf("%+v", x)
		}
		bundleHeader(entry)
	})
}
