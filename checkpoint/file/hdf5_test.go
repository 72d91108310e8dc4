package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// sample is a file that a framework wrote.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reasonOf is what is wrong, empty when nothing is.
func reasonOf(t testing.TB, err error) problem.Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*problem.Error](err)
	if !ok {
		t.Fatalf("%v is no problem of the file", err)
	}
	return e.Reason
}

// strict reads nothing outside of a file.
type strict struct {
	t testing.TB
	b []byte
}

func (s strict) ReadAt(b []byte, at int64) (int, error) {
	if at < 0 || at > int64(len(s.b)) || int64(len(b)) > int64(len(s.b))-at {
		s.t.Fatalf("%d bytes were read at %d of %d", len(b), at, len(s.b))
	}
	return copy(b, s.b[at:]), nil
}

func hdf5Of(t testing.TB, b []byte, sum bool) (HDF5, error) {
	return ReadHDF5(strict{t, b}, int64(len(b)), sum)
}

func TestHDF5Samples(t *testing.T) {
	for name, want := range map[string]struct {
		version int
		names   []string
		reason  problem.Reason
	}{
		"v0.h5":           {version: 0, names: []string{"x"}},
		"v0_userblock.h5": {version: 0, names: []string{"x"}},
		"v2.h5":           {version: 2},
		"v3.h5":           {version: 3},
		"v3_open.h5":      {reason: problem.InProgress},
	} {
		b := sample(t, "hdf5/"+name)
		h, err := hdf5Of(t, b, true)
		if got := reasonOf(t, err); got != want.reason {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		names, err := h.Names(strict{t, b})
		if err != nil || h.Version != want.version || h.End != int64(len(b)) || !slices.Equal(names[:min(1, len(names))], want.names) {
			t.Errorf("%s: %+v, names %q, %v", name, h, names, err)
		}
	}
}

func TestHDF5Problems(t *testing.T) {
	put := func(at int, value uint64) func(b []byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint64(b[at:], value); return b }
	}
	for _, test := range []struct {
		name, sample string
		change       func(b []byte) []byte
		want         problem.Reason
	}{
		{"empty", "v0.h5", func(b []byte) []byte { return nil }, problem.EmptyFile},
		{"three bytes", "v0.h5", func(b []byte) []byte { return b[:3] }, problem.Truncated},
		{"only the signature", "v0.h5", func(b []byte) []byte { return b[:8] }, problem.Truncated},
		{"half a superblock", "v0.h5", func(b []byte) []byte { return b[:40] }, problem.Truncated},
		{"half a superblock of version 3", "v3.h5", func(b []byte) []byte { return b[:40] }, problem.Truncated},
		{"a byte is missing", "v0.h5", func(b []byte) []byte { return b[:len(b)-1] }, problem.Truncated},
		{"a byte is missing, version 2", "v2.h5", func(b []byte) []byte { return b[:len(b)-1] }, problem.Truncated},
		{"zeros follow", "v0.h5", func(b []byte) []byte { return append(b, make([]byte, 4096)...) }, problem.SizeMismatch},
		{"a byte follows, version 3", "v3.h5", func(b []byte) []byte { return append(b, 0) }, problem.SizeMismatch},
		{"zeros", "v0.h5", func(b []byte) []byte { clear(b); return b }, problem.BadIndex},
		{"never closed", "v0.h5", func(b []byte) []byte { b[20] = 1; return b }, problem.InProgress},
		{"never closed and longer", "v0.h5", func(b []byte) []byte { b[20] = 1; return append(b, 1, 2) }, problem.InProgress},
		{"version 9", "v0.h5", func(b []byte) []byte { b[8] = 9; return b }, problem.BadIndex},
		{"addresses of 3 bytes", "v0.h5", func(b []byte) []byte { b[13] = 3; return b }, problem.BadIndex},
		{"addresses of no bytes, version 3", "v3.h5", func(b []byte) []byte { b[9] = 0; return b }, problem.BadIndex},
		{"no end", "v0.h5", put(24+16, 1<<64-1), problem.BadIndex},
		{"an end before the beginning", "v0_userblock.h5", put(512+24+16, 100), problem.BadIndex},
		{"a base behind it", "v0.h5", put(24, 4096), problem.BadIndex},
		{"a wrong checksum", "v2.h5", func(b []byte) []byte { b[20] ^= 1; return b }, problem.HashMismatch},
		{"a wrong checksum, version 3", "v3.h5", func(b []byte) []byte { b[44] ^= 1; return b }, problem.HashMismatch},
	} {
		b := test.change(sample(t, "hdf5/"+test.sample))
		_, err := hdf5Of(t, b, true)
		if got := reasonOf(t, err); got != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
	// Without the sum, nothing is said of it.
	b := sample(t, "hdf5/v3.h5")
	b[44] ^= 1
	if _, err := hdf5Of(t, b, false); err != nil {
		t.Error(err)
	}
}

func TestHDF5Names(t *testing.T) {
	b := filetest.HDF5("layers", "optimizer", "vars")
	for _, heap := range []uint64{uint64(len(b)) + 1, 1 << 40, 1<<64 - 1} { // behind the end, and nowhere
		elsewhere := bytes.Clone(b)
		binary.LittleEndian.PutUint64(elsewhere[88:], heap)
		h, err := hdf5Of(t, elsewhere, true)
		if err != nil {
			t.Fatal(err)
		}
		if names, err := h.Names(strict{t, elsewhere}); err != nil || names != nil {
			t.Error(heap, names, err)
		}
	}
	h, err := hdf5Of(t, b, true)
	if err != nil {
		t.Fatal(err)
	}
	names, err := h.Names(strict{t, b})
	if err != nil || !slices.Equal(names, []string{"layers", "optimizer", "vars"}) {
		t.Error(names, err)
	}
	binary.LittleEndian.PutUint64(b[96+8:], 1<<40) // the heap is larger than the file
	if _, err := h.Names(strict{t, b}); reasonOf(t, err) != problem.BadIndex {
		t.Error(err)
	}
	clear(b[96:100])
	if _, err := h.Names(strict{t, b}); reasonOf(t, err) != problem.BadIndex {
		t.Error(err)
	}
}

// An error of reading is not one of the file.
func TestHDF5ReadError(t *testing.T) {
	broken := errors.New("input/output error")
	r := readerFunc(func([]byte, int64) (int, error) { return 0, broken })
	if _, err := ReadHDF5(r, 4096, true); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := TableEnds(r, 4096); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := ReadSnapshot(r, 4096); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := SavedModel(r, 4096); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := OCDBTManifest(r, 4096, true); !errors.Is(err, broken) {
		t.Error(err)
	}
	tensor := BundleTensor{Size: 10, Summed: true}
	if err := tensor.Check(r, make([]byte, 10), nil); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type readerFunc func(b []byte, at int64) (int, error)

func (f readerFunc) ReadAt(b []byte, at int64) (int, error) { return f(b, at) }

var _ io.ReaderAt = readerFunc(nil)

// The sums are those that the author of the hash gives in its source.
func TestLookup3(t *testing.T) {
	for text, want := range map[string]uint32{"": 0xdeadbeef, "Four score and seven years ago": 0x17770551} {
		if got := lookup3([]byte(text)); got != want {
			t.Errorf("%q: %08x, want %08x", text, got, want)
		}
	}
}

func FuzzHDF5(f *testing.F) {
	for _, name := range []string{"v0.h5", "v0_userblock.h5", "v2.h5", "v3.h5", "v3_open.h5"} {
		f.Add(sample(f, "hdf5/"+name))
	}
	f.Add(filetest.HDF5("layers", "optimizer"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := hdf5Of(t, b, len(b)%2 == 0)
		if reasonOf(t, err) == "" {
			_, err = h.Names(strict{t, b})
			reasonOf(t, err)
		}
		_, err = Keras(strict{t, b}, int64(len(b)))
		reasonOf(t, err)
	})
}
