package file

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// torchFile looks at a file of torch.save as closely as can be.
func torchFile(r io.ReaderAt, size int64, everything bool) (Torch, error) {
	head := make([]byte, min(size, 32))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return 0, err
	}
	form, ok := IsTorch(head)
	switch {
	case !ok:
		return 0, problem.New(problem.BadZip, "begins with % x", head)
	case form == TorchLegacy:
		return form, TorchLegacyEnd(r, size)
	case form == PlainPickle:
		return form, Pickles(r, size)
	}
	z, err := OpenZip(r, size)
	if err != nil {
		return form, err
	}
	if form, err = TorchNames(z); err == nil {
		err = TorchRecords(z)
	}
	if err == nil && everything {
		err = VerifyZip(z, nil)
	}
	return form, err
}

// look chooses what looks at a sample, by its name.
func lookAt(name string, r io.ReaderAt, size int64) error {
	var err error
	switch filepath.Ext(name) {
	case ".safetensors":
		err = Safetensors(r, size)
	case ".metadata":
		_, _, err = DCPMetadata(r, size, nil)
	default:
		_, err = torchFile(r, size, true)
	}
	return err
}

func reason(t *testing.T, err error) problem.Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	wrong, ok := errors.AsType[*problem.Error](err)
	if !ok {
		t.Fatalf("no problem.Error: %v", err)
	}
	return wrong.Reason
}

// samples are the files that real versions of torch wrote.
func samples(t testing.TB, glob string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "torch", "*", glob))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples %s: %v", glob, err)
	}
	found := make(map[string][]byte)
	for _, path := range paths {
		if ext := filepath.Ext(path); ext == ".sizes" || ext == ".py" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[path] = data
	}
	return found
}

// Every file that torch wrote is whole, none is when it lacks its end, and none is with zeros behind it.
func TestSamples(t *testing.T) {
	for path, data := range samples(t, "*") {
		want := problem.Reason("")
		if strings.Contains(path, "interrupted") {
			want = problem.ZipMissingRecords
		}
		err := lookAt(path, bytes.NewReader(data), int64(len(data)))
		if got := reason(t, err); got != want {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if want != "" {
			continue
		}
		for n := range len(data) {
			if err := lookAt(path, bytes.NewReader(data[:n]), int64(n)); reason(t, err) == "" {
				t.Errorf("%s is whole with %d of its %d bytes", path, n, len(data))
				break
			}
		}
		longer := append(bytes.Clone(data), make([]byte, 4096)...)
		if err := lookAt(path, bytes.NewReader(longer), int64(len(longer))); err == nil {
			t.Errorf("%s is whole with zeros behind it", path)
		}
	}
}

func TestTorchForms(t *testing.T) {
	for glob, want := range map[string]Torch{
		"zip-*.pt": TorchZip, "dummy.pt": TorchZip, "script.pt": TorchScript, "legacy-*.pt": TorchLegacy,
	} {
		for path, data := range samples(t, glob) {
			if got, err := torchFile(bytes.NewReader(data), int64(len(data)), true); got != want || err != nil {
				t.Errorf("%s is %d (%v), want %d", path, got, err, want)
			}
		}
	}
}

func TestTorchProblems(t *testing.T) {
	some := []byte("twenty bytes of data")
	good := filetest.Torch(some, make([]byte, 200))
	at := bytes.Index(good, some)
	records := filetest.TorchRecords("model", some, some)
	flipped := bytes.Clone(records[0].Data)
	for _, test := range []struct {
		name string
		data []byte
		want problem.Reason
	}{
		{"good", good, ""},
		{"no storages", filetest.Torch(), ""},
		{"a zero in a storage", edit(good, at, 0), problem.HashMismatch},
		{"a zero in a storage without a checksum", edit(withoutCRC(some), bytes.Index(withoutCRC(some), some), 0), ""},
		{"a storage is missing", filetest.Zip(records[:5]...), problem.ZipMissingRecords},
		{"the last storage is missing", filetest.Zip(append(records[:5:5], records[6:]...)...), problem.ZipMissingRecords},
		{"no data.pkl", filetest.Zip(records[1:]...), problem.ZipMissingRecords},
		{"no records", filetest.Zip(), problem.BadZip},
		{"nothing", nil, problem.BadZip},
		{"zeros", make([]byte, 1000), problem.BadZip},
		{"the second half is zeros", append(bytes.Clone(good[:len(good)/2]), make([]byte, len(good)-len(good)/2)...), problem.Truncated},
		{"the beginning is zeros", edit(good, 0, 0, 0, 0, 0), problem.BadZip},
		{"half a pickle", filetest.Zip(append([]filetest.Record{{Name: "model/data.pkl", Data: flipped[:len(flipped)/2]}},
			records[1:]...)...), problem.BadPickle},
		{"the directory is said to be elsewhere", edit(good, len(good)-42-8, 1), problem.BadZip},
		{"more entries than there are", edit(good, len(good)-42-56+32, 200), problem.BadZip},
		{"fewer entries than there are", edit(good, len(good)-42-56+32, 1), problem.BadZip},
		{"the directory is said to be longer", edit(good, len(good)-42-56+41, 9), problem.BadZip},
		{"the ZIP64 record is said to be elsewhere", edit(good, len(good)-22-20+8, 1), problem.BadZip},
		{"an entry is larger than the file", edit(good, bytes.LastIndex(good, []byte("PK\x01\x02"))+22, 9), problem.BadZip},
		{"a script without a storage", filetest.Zip(append(records[:4:4], filetest.Record{Name: "model/constants.pkl"})...), ""},
		{"another name at an entry", edit(good, bytes.LastIndex(good, []byte("PK\x01\x02"))+42, 1), problem.BadZip},
		{"legacy", filetest.TorchLegacy(some, some), ""},
		{"legacy, cut by a byte", cut(filetest.TorchLegacy(some, some), 1), problem.Truncated},
		{"legacy, cut by a storage", cut(filetest.TorchLegacy(some, some), 28), problem.Truncated},
		{"legacy, in its pickles", filetest.TorchLegacy(some, some)[:100], problem.Truncated},
		{"legacy, another count", edit(filetest.TorchLegacy(some), len(filetest.TorchLegacy(some))-28, 19), problem.BadPickle},
		{"legacy, more behind it", append(filetest.TorchLegacy(some), 0), problem.SizeMismatch},
		{"pickles", append(filetest.NewPickle(2).Op("N").Stop(), filetest.NewPickle(4).Op("N").Stop()...), ""},
		{"a pickle without an end", filetest.NewPickle(2).Op("N").Stop()[:3], problem.BadPickle},
		{"a pickle of two values", filetest.NewPickle(2).Op("NN").Stop(), problem.BadPickle},
		{"a pickle of nothing", filetest.NewPickle(2).Op("N0").Stop(), problem.BadPickle},
		{"a pickle that takes more than it has", filetest.NewPickle(2).Op("N\x86").Stop(), problem.BadPickle},
		{"a pickle with zeros behind it", append(filetest.NewPickle(2).Op("N").Stop(), 0, 0), problem.BadPickle},
		{"a pickle of protocol 6", []byte("\x80\x06N."), problem.BadZip},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := torchFile(bytes.NewReader(test.data), int64(len(test.data)), true)
			if got := reason(t, err); got != test.want {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func edit(data []byte, at int, with ...byte) []byte {
	data = bytes.Clone(data)
	copy(data[at:], with)
	return data
}

func cut(data []byte, n int) []byte { return data[:len(data)-n] }

func withoutCRC(storage []byte) []byte {
	records := filetest.TorchRecords("model", storage)
	for i := range records {
		records[i].NoCRC = true
	}
	return filetest.Zip(records...)
}

// broken fails to read behind an offset.
type broken struct {
	io.ReaderAt
	from int64
}

var errBroken = errors.New("input/output error")

func (b broken) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > b.from {
		return 0, errBroken
	}
	return b.ReaderAt.ReadAt(p, at)
}

// An error of reading says nothing about the file, wherever it comes.
func TestReadErrors(t *testing.T) {
	for path, data := range samples(t, "*") {
		if strings.Contains(path, "interrupted") {
			continue
		}
		for from := int64(32); from < int64(len(data)); from += int64(len(data)) / 7 {
			err := lookAt(path, broken{bytes.NewReader(data), from}, int64(len(data)))
			if filepath.Ext(path) == ".safetensors" && from > 32 {
				break // behind its header nothing is read
			}
			if !errors.Is(err, errBroken) {
				t.Errorf("%s cannot be read at %d, and is %v", path, from, err)
			}
		}
	}
}

// A file that shrinks while it is read was cut.
func TestShrinking(t *testing.T) {
	for path, data := range samples(t, "*") {
		err := lookAt(path, bytes.NewReader(data[:len(data)/2]), int64(len(data)))
		if reason(t, err) == "" {
			t.Errorf("%s is whole", path)
		}
	}
}

// strictReader fails the test when anything outside the file is asked for, or more than the parsers hold at once.
type strictReader struct {
	t    *testing.T
	data []byte
	read int64
}

func (s *strictReader) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 || at+int64(len(p)) > int64(len(s.data)) {
		s.t.Fatalf("%d bytes at %d of %d", len(p), at, len(s.data))
	}
	s.read += int64(len(p))
	return copy(p, s.data[at:]), nil
}

// hostile looks at arbitrary bytes: within the file, within bounds of memory and of what is read, and without a panic.
func hostile(t *testing.T, data []byte, look func(r io.ReaderAt, size int64) error) {
	t.Helper()
	s := &strictReader{t: t, data: data}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := look(s, int64(len(data)))
	runtime.ReadMemStats(&after)
	// What one pass over few bytes allocates: its windows, and what it remembers of each opcode.
	if n, most := after.TotalAlloc-before.TotalAlloc, uint64(4<<20+400*len(data)); n > most {
		t.Fatalf("%d bytes allocated for a file of %d", n, len(data))
	}
	if most := int64(20*len(data) + 1<<20); s.read > most {
		t.Fatalf("%d bytes read of a file of %d", s.read, len(data))
	}
	if err != nil {
		reason(t, err)
	}
}

func seed(f *testing.F, glob string) {
	for _, data := range samples(f, glob) {
		f.Add(data)
	}
}

func FuzzTorchZip(f *testing.F) {
	seed(f, "zip*.pt")
	seed(f, "script.pt")
	f.Add(filetest.Torch([]byte("data")))
	f.Fuzz(func(t *testing.T, data []byte) {
		hostile(t, data, func(r io.ReaderAt, size int64) error {
			z, err := OpenZip(r, size)
			if err != nil {
				return err
			}
			if _, err := TorchNames(z); err != nil {
				return err
			}
			if err := TorchRecords(z); err != nil {
				return err
			}
			return VerifyZip(z, nil)
		})
	})
}

func FuzzTorchLegacy(f *testing.F) {
	seed(f, "legacy*.pt")
	f.Add(filetest.TorchLegacy([]byte("data")))
	f.Fuzz(func(t *testing.T, data []byte) { hostile(t, data, TorchLegacyEnd) })
}

func FuzzPickle(f *testing.F) {
	for _, data := range samples(f, "*.metadata") {
		f.Add(data)
	}
	f.Add(filetest.NewPickle(0).Op("(S'a'\nI1\nF1.5\nL3L\nd.").Stop())
	f.Add(filetest.NewPickle(5).Op("(N0)\x94(\x91\x92\x960000").Stop())
	f.Fuzz(func(t *testing.T, data []byte) { hostile(t, data, Pickles) })
}
