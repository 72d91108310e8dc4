package objectstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// pattern is different at every offset.
func pattern(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16*7)
	}
	return string(b)
}

func open(t *testing.T, fsys fs.FS, name string) io.ReaderAt {
	t.Helper()
	f, err := fsys.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f.(io.ReaderAt)
}

// As a zip of 40 MiB is verified: its end, its directory, and the head of its first record.
func TestEndsCostTwoRequests(t *testing.T) {
	body := pattern(40 << 20)
	f := newFakeS3(t, map[string]string{"b/run/big": body})
	at := open(t, f.fs(t, "s3://b/run"), "big")
	size := int64(len(body))
	for _, r := range []struct{ off, n int64 }{{size - 22, 22}, {size - 42, 20}, {size - 98, 56}, {size - 100_000, 99_000},
		{0, 4}, {30, 4000}, {60_000, 5000}} {
		p := make([]byte, r.n)
		if n, err := at.ReadAt(p, r.off); err != nil || string(p) != body[r.off:r.off+r.n] {
			t.Fatalf("at %d: %d bytes, %v", r.off, n, err)
		}
	}
	if got := f.count(); got != 1+2 {
		t.Errorf("%d requests, 3 expected:\n%s", got, strings.Join(f.requests, "\n"))
	}
	if n, err := at.ReadAt(make([]byte, 10), size-5); n != 5 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if n, err := at.ReadAt(make([]byte, 10), size+5); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	if _, err := at.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("before the beginning: no error")
	}
}

func TestReadInARow(t *testing.T) {
	body := pattern(21 << 20)
	f := newFakeS3(t, map[string]string{"b/run/big": body})
	r := io.NewSectionReader(open(t, f.fs(t, "s3://b/run"), "big"), 0, int64(len(body)))
	var got bytes.Buffer
	if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, r, make([]byte, 32<<10)); err != nil || got.String() != body {
		t.Fatalf("%d bytes, %v", got.Len(), err)
	}
	// 64 KiB, 128 KiB and so on to 4 MiB, and the tail.
	if got := f.count(); got > 14 {
		t.Errorf("%d requests:\n%s", got, strings.Join(f.requests, "\n"))
	}
}

func TestReadAnywhere(t *testing.T) {
	body := pattern(5<<20 + 12345)
	f := newFakeS3(t, map[string]string{"b/run/big": body, "b/run/small": body[:1000]})
	fsys := f.fs(t, "s3://b/run")
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"big", "small"} {
		body := f.objects["b/run/"+name]
		at := open(t, fsys, name)
		for range 60 {
			off := random.Int64N(int64(len(body)))
			n := 1 + random.Int64N(min(int64(len(body))-off, 1<<random.IntN(24)))
			p := make([]byte, n)
			if _, err := at.ReadAt(p, off); err != nil || string(p) != body[off:off+n] {
				t.Fatalf("%s: %d bytes at %d: %v", name, n, off, err)
			}
		}
	}
}

func TestSpanHoldsWhatIsAskedFor(t *testing.T) {
	for _, size := range []int64{1, smallFile, smallFile + 1, 1 << 20, 40 << 20} {
		for _, off := range []int64{0, 1, block - 1, block, size / 2, size - tail - 1, size - tail, size - 1} {
			for _, n := range []int64{1, block, 10 << 20} {
				for _, ahead := range []int64{0, block, maxRange} {
					if off < 0 || off >= size {
						continue
					}
					from, to := span(off, min(n, size-off), size, ahead)
					if from < 0 || from > off || to <= off || to > size || to-from > maxRange {
						t.Errorf("span(%d, %d, %d, %d) is %d to %d", off, n, size, ahead, from, to)
					}
				}
			}
		}
	}
}

// What is replaced while it is read is an error, and never a mix of two objects.
func TestChanged(t *testing.T) {
	for _, c := range []struct {
		name     string
		noTags   bool
		manifest bool
		body     func(old string) string
	}{
		{"other bytes", false, false, strings.ToUpper},
		{"shorter", false, false, func(s string) string { return s[:100] }},
		{"longer", false, false, func(s string) string { return s + "more" }},
		{"shorter, without tags", true, false, func(s string) string { return s[:len(s)-1] }},
		{"longer, without tags", true, false, func(s string) string { return s + "more" }},
		{"other bytes, of a manifest", false, true, strings.ToUpper},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := strings.Repeat("abcdefgh", 100_000)
			f := newFakeS3(t, map[string]string{"b/run/x": body})
			f.noTags = c.noTags
			url := "s3://b/run"
			if c.manifest {
				f.open = true
				f.put("b/m.json", fmt.Sprintf(`{"files":[{"path":"x","size":%d,"url":"run/x"}]}`, len(body)))
				url = f.URL + "/b/m.json"
			}
			at := open(t, f.fs(t, url), "x")
			if _, err := at.ReadAt(make([]byte, 10), 0); err != nil {
				t.Fatal(err)
			}
			f.put("b/run/x", c.body(body))
			_, err := at.ReadAt(make([]byte, 10), 300_000)
			if !errors.Is(err, ErrChanged) {
				t.Errorf("%v, ErrChanged expected", err)
			}
			checkUnknown(t, err)
		})
	}
}

// A server may not know If-Match, and still be caught.
func TestChangedWithoutIfMatch(t *testing.T) {
	f := newFakeS3(t, map[string]string{"b/run/x": "abcd"})
	f.first = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n > 1 && r.Header.Get("If-Match") != tagOf("abcd") {
			t.Errorf("If-Match is %q", r.Header.Get("If-Match"))
		}
		r.Header.Del("If-Match")
		if n > 1 {
			w.Header().Set("ETag", tagOf("efgh"))
			w.Header().Set("Content-Range", "bytes 0-3/4")
			w.WriteHeader(206)
			_, _ = w.Write([]byte("efgh"))
			return true
		}
		return false
	}
	_, err := fs.ReadFile(f.fs(t, "s3://b/run"), "x")
	if !errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
}

func TestGoneSinceItWasListed(t *testing.T) {
	f := newFakeS3(t, map[string]string{"b/run/x": "abcd"})
	fsys := f.fs(t, "s3://b/run")
	at := open(t, fsys, "x")
	f.mu.Lock()
	delete(f.objects, "b/run/x")
	f.mu.Unlock()
	if _, err := at.ReadAt(make([]byte, 4), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	f.first = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		fail(w, 404, "NoSuchBucket", "")
		return true
	}
	_, err := at.ReadAt(make([]byte, 4), 0)
	checkUnknown(t, err)
	f.first = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		fail(w, 403, "InvalidObjectState", "")
		return true
	}
	_, err = at.ReadAt(make([]byte, 4), 0)
	checkUnknown(t, err)
	if !strings.Contains(err.Error(), "archived") {
		t.Error(err)
	}
}

func TestServerWithoutRanges(t *testing.T) {
	f := newFakeS3(t, map[string]string{"b/run/small": pattern(1000), "b/run/big": pattern(1 << 20)})
	f.noRanges = true
	fsys := f.fs(t, "s3://b/run")
	if data, err := fs.ReadFile(fsys, "small"); err != nil || string(data) != pattern(1000) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	at := open(t, fsys, "big")
	p := make([]byte, 100)
	if _, err := at.ReadAt(p, 10); err != nil || string(p) != pattern(1 << 20)[10:110] {
		t.Errorf("the head: %v", err)
	}
	_, err := at.ReadAt(p, 500_000)
	checkUnknown(t, err)
	if !strings.Contains(err.Error(), "does not answer range requests") {
		t.Error(err)
	}
}

func TestWrongRanges(t *testing.T) {
	for _, c := range []string{"", "bytes 1-4/4", "bytes 1-3/4", "bytes 0-2/4", "bytes 0-3/-4", "bytes 3-0/4", "items 0-3/4", "bytes 0-3"} {
		f := newFakeS3(t, map[string]string{"b/run/x": "abcd"})
		f.first = func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n == 1 {
				return false
			}
			w.Header().Set("Content-Range", c)
			w.WriteHeader(206)
			_, _ = w.Write([]byte("abcd"))
			return true
		}
		_, err := fs.ReadFile(f.fs(t, "s3://b/run"), "x")
		checkUnknown(t, err)
	}
}
