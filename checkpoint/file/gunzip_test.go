package file

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func spendFreely(int) error { return nil }

func TestGunzip(t *testing.T) {
	const keep = 1000
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, keep - 1, keep, keep + 1, 2*keep - 1, 2 * keep, 2*keep + 1, 5*keep + 7, 100 * keep} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		packed := zipped(t, data)
		u, err := Gunzip(bytes.NewReader(packed), int64(len(packed)), keep, spendFreely)
		if err != nil || u.Size != int64(size) {
			t.Fatalf("%d bytes: %v, %+v", size, err, u)
		}
		for range 200 {
			from := random.IntN(size + 1)
			to := from + random.IntN(size+1-from)
			got := make([]byte, to-from)
			_, err := u.ReadAt(got, int64(from))
			kept := to <= keep || from >= size-keep || size <= 2*keep || from == to
			if kept && (err != nil && err != io.EOF || !bytes.Equal(got, data[from:to])) || !kept && !NotKept(err) {
				t.Errorf("%d bytes, %d to %d: %v", size, from, to, err)
			}
		}
		if n, err := u.ReadAt(make([]byte, 2), max(0, int64(size)-1)); n != min(1, size) || err != io.EOF {
			t.Errorf("%d bytes, past the end: %d, %v", size, n, err)
		}
	}
}

func TestGunzipSpoilt(t *testing.T) {
	data := make([]byte, 100_000)
	random := rand.New(rand.NewPCG(3, 4))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	whole := zipped(t, data)
	half := len(whole) / 2
	for name, packed := range map[string][]byte{
		"half":      whole[:half],
		"one short": whole[:len(whole)-1],
		"zero tail": append(slices.Clone(whole[:half]), make([]byte, len(whole)-half)...),
		"zeros":     make([]byte, len(whole)),
		"empty":     nil,
		"one bit":   append(append(slices.Clone(whole[:half]), whole[half]^1), whole[half+1:]...),
	} {
		if _, err := Gunzip(bytes.NewReader(packed), int64(len(packed)), 10, spendFreely); reason(t, err) != problem.Truncated {
			t.Errorf("%s: %v", name, err)
		}
	}
	enough := errors.New("enough")
	if _, err := Gunzip(bytes.NewReader(whole), int64(len(whole)), 10, func(int) error { return enough }); err != enough {
		t.Errorf("%v, that of who pays expected", err)
	}
	// What cannot be read says nothing about the file.
	broken := errors.New("input/output error")
	if _, err := Gunzip(failing{bytes.NewReader(whole), int64(half), broken}, int64(len(whole)), 10, spendFreely); err != broken {
		t.Errorf("%v, that of reading expected", err)
	}
}

// failing cannot be read from an offset on.
type failing struct {
	io.ReaderAt
	from int64
	err  error
}

func (f failing) ReadAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) > f.from {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(b, at)
}
