package file

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// What a .metadata of torch names are the files that lay beside it, and as large as they were; only those that are empty
// it does not name.
func TestDCPMetadataSamples(t *testing.T) {
	for path, data := range samples(t, "*.metadata") {
		list, err := os.ReadFile(strings.TrimSuffix(path, ".metadata") + ".sizes")
		if err != nil {
			continue // of a single rank
		}
		want := make(map[string]int64)
		for line := range strings.Lines(string(list)) {
			var name string
			var size int64
			if _, err := fmt.Sscan(line, &name, &size); err != nil {
				t.Fatal(err)
			}
			if size > 0 {
				want[name] = size
			}
		}
		got, _, err := DCPMetadata(bytes.NewReader(data), int64(len(data)), nil)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s names %v (%v), want %v", path, got, err, want)
		}
		names, err := scanDCP(bytes.NewReader(data), int64(len(data)))
		if err != nil || len(names) != len(want) {
			t.Errorf("%s: found %v (%v), want %v", path, names, err, want)
		}
		for name := range names {
			if want[name] == 0 {
				t.Errorf("%s: found %q", path, name)
			}
		}
	}
}

// When one rank wrote its own marker it names its own file.
func TestDCPMetadataApart(t *testing.T) {
	for path, data := range samples(t, "dcp-apart__*.metadata") {
		got, _, err := DCPMetadata(bytes.NewReader(data), int64(len(data)), nil)
		rank := path[len(path)-len("0.metadata"):][:1]
		if size := got["__"+rank+"_0.distcp"]; err != nil || len(got) != 1 || size == 0 {
			t.Errorf("%s names %v (%v)", path, got, err)
		}
	}
}

func TestDCPMetadata(t *testing.T) {
	long := strings.Repeat("x", 300) + "__0_0.distcp"
	good := filetest.DCPMetadata([]string{"__0_0.distcp", "__1_0.distcp", "__0_0.distcp", long}, []int64{30, 7, 10, 1})
	got, _, err := DCPMetadata(bytes.NewReader(good), int64(len(good)), nil)
	if want := map[string]int64{"__0_0.distcp": 30, "__1_0.distcp": 7, long: 1}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	negative := filetest.DCPMetadata([]string{"__0_0.distcp"}, []int64{-10})
	for name, data := range map[string][]byte{
		"cut":      good[:len(good)/2],
		"zeros":    append(bytes.Clone(good[:len(good)-20]), make([]byte, 20)...),
		"twice":    append(bytes.Clone(good), good...),
		"negative": negative,
		"garbled":  edit(good, 80, 0xff, 0xff, 0xff),
	} {
		if _, _, err := DCPMetadata(bytes.NewReader(data), int64(len(data)), nil); reason(t, err) != problem.BadPickle {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A pickle that is more than the walk follows is searched for names, over the borders of what is read at a time.
func TestDCPMetadataTooMuch(t *testing.T) {
	p := filetest.NewPickle(4).Op(strings.Repeat("N", maxStack+1))
	want := make(map[string]int64)
	for i := range 40_000 {
		name := fmt.Sprintf("separate__%d_0.distcp", i)
		p.Text("a text between them").Text(name)
		want[name] = 0
	}
	data := p.Stop()
	if len(data) < 2<<20 {
		t.Fatal("less than two reads")
	}
	got, _, err := DCPMetadata(bytes.NewReader(data), int64(len(data)), nil)
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%d names (%v), want %d", len(got), err, len(want))
	}
}

// A .metadata of many items is walked without holding them.
func TestDCPMetadataMemory(t *testing.T) {
	names, sizes := make([]string, 20_000), make([]int64, 20_000)
	for i := range names {
		names[i], sizes[i] = fmt.Sprintf("__%d_0.distcp", i%64), int64(i)
	}
	data := filetest.DCPMetadata(names, sizes)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, _, err := DCPMetadata(bytes.NewReader(data), int64(len(data)), nil)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil || len(got) != 64 || got["__63_0.distcp"] != 19_967 {
		t.Fatalf("%d files, %v", len(got), err)
	}
	if after.HeapAlloc > before.HeapAlloc+1<<20 {
		t.Errorf("%d bytes are held for %d", after.HeapAlloc-before.HeapAlloc, len(data))
	}
}

func FuzzDCPMetadata(f *testing.F) {
	seed(f, "*.metadata")
	f.Add(filetest.DCPMetadata([]string{"__0_0.distcp"}, []int64{10}))
	f.Fuzz(func(t *testing.T, data []byte) {
		hostile(t, data, func(r io.ReaderAt, size int64) error {
			_, _, err := DCPMetadata(r, size, nil)
			return err
		})
	})
}

func BenchmarkDCPMetadata(b *testing.B) {
	names, sizes := make([]string, 100_000), make([]int64, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("__%d_0.distcp", i%1024)
	}
	data := filetest.DCPMetadata(names, sizes)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := DCPMetadata(bytes.NewReader(data), int64(len(data)), nil); err != nil {
			b.Fatal(err)
		}
	}
}
