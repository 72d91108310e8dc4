package format

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// torchLook calls a check of a part of a checkpoint as its container does.
func torchLook(l *look, check func(*look, *Checkpoint) error) (*Checkpoint, problem.Reason) {
	c := &Checkpoint{Complete: true, Resumable: true, ShardsExpected: -1}
	if err := check(l, c); err != nil {
		return c, problem.Of(err, problem.MissingShard).Reason
	}
	return c, c.Reason
}

func TestCheckTorch(t *testing.T) {
	some := make([]byte, 300)
	good := filetest.Torch(some, some)
	legacy := filetest.TorchLegacy(some)
	records := filetest.TorchRecords("x", some)
	zeroedStorage := filetest.Torch([]byte("twenty bytes of data"))
	at := strings.Index(string(zeroedStorage), "twenty")
	copy(zeroedStorage[at:], make([]byte, 20))
	for _, test := range []struct {
		name string
		data []byte
		at   Level // the first that sees what is wrong
		want problem.Reason
	}{
		{"zip", good, Names, ""},
		{"legacy", legacy, Names, ""},
		{"pickle", filetest.NewPickle(4).Op("N").Stop(), Names, ""},
		{"empty", nil, Names, problem.EmptyFile},
		{"two bytes", good[:2], Ends, problem.Truncated},
		{"cut", good[:len(good)-1], Ends, problem.Truncated},
		{"half", good[:len(good)/2], Ends, problem.Truncated},
		{"zeros", make([]byte, 300), Ends, problem.BadZip},
		{"zeros behind it", append(good[:len(good):len(good)], make([]byte, 100)...), Ends, problem.BadZip},
		{"no data.pkl", filetest.Zip(records[1:]...), Ends, problem.ZipMissingRecords},
		{"interrupted", filetest.Zip(records[:3]...), Manifests, problem.ZipMissingRecords},
		{"zeros in a storage", zeroedStorage, Everything, problem.HashMismatch},
		{"cut legacy", legacy[:len(legacy)-100], Manifests, problem.Truncated},
		{"cut pickle", []byte("\x80\x04NNN"), Ends, problem.BadPickle},
		{"script", filetest.Zip(append(records, filetest.Record{Name: "x/constants.pkl"})...), Ends, problem.WeightsOnly},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDisk(t)
			d.play(write("x.pt", test.data))
			for level := Names; level <= Everything; level++ {
				read := 0
				o := Options{Level: level, Read: func(n int) { read += n }}
				c, got := torchLook(newLook(context.Background(), d.fs(), o), func(l *look, c *Checkpoint) error {
					return checkOne(l, c, "x.pt")
				})
				want := test.want
				if level < test.at {
					want = ""
				}
				if got != want {
					t.Errorf("level %d: %q, want %q", level, got, want)
				}
				if got == "" && (c.Size != int64(len(test.data)) || !c.Modified.Equal(d.now)) {
					t.Errorf("level %d: %d bytes of %v", level, c.Size, c.Modified)
				}
				if test.name == "zip" && (read >= 600) != (level == Everything) {
					t.Errorf("level %d: told of %d bytes", level, read)
				}
			}
		})
	}
}

func checkOne(l *look, c *Checkpoint, path string) error {
	_, err := checkTorchAll(l, c, []string{path})
	return err
}

// The samples of real versions of torch, by way of a directory.
func TestCheckTorchSamples(t *testing.T) {
	root := filepath.Join("..", "file", "testdata", "torch")
	paths, err := filepath.Glob(filepath.Join(root, "*", "*.pt"))
	if err != nil || len(paths) < 10 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		name, _ := filepath.Rel(root, path)
		l := newLook(context.Background(), os.DirFS(root), Options{Level: Everything})
		_, got := torchLook(l, func(l *look, c *Checkpoint) error { return checkOne(l, c, filepath.ToSlash(name)) })
		want := map[string]problem.Reason{
			"interrupted.pt": problem.ZipMissingRecords, "script.pt": problem.WeightsOnly,
		}[filepath.Base(path)]
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The first file that is wrong is named, and what cannot be read is not known.
func TestCheckTorchAll(t *testing.T) {
	names := []string{"a.pt", "b.pt", "c.pt"}
	for _, test := range []struct {
		op   op
		err  error
		want problem.Reason
	}{
		{remove("nothing"), nil, ""},
		{remove("b.pt"), nil, problem.MissingShard},
		{mkdir("b.pt/x"), nil, problem.MissingShard},
		{truncated("b.pt", -1), nil, problem.Truncated},
		{remove("nothing"), syscall.EIO, problem.IOError},
		{remove("nothing"), syscall.ESTALE, problem.IOError},
		{remove("nothing"), syscall.EACCES, problem.Permission},
	} {
		d := newDisk(t)
		for _, name := range names {
			d.play(write(name, filetest.Torch([]byte("data"))))
		}
		if test.want == problem.MissingShard {
			d.play(remove("b.pt"))
		}
		d.play(test.op)
		fsys := d.fs()
		if test.err != nil {
			fsys = failing{fsys, "b.pt", test.err}
		}
		var err error
		_, got := torchLook(newLook(context.Background(), fsys, Options{Level: Manifests}), func(l *look, c *Checkpoint) error {
			_, err = checkTorchAll(l, c, names)
			return err
		})
		if got != test.want || err != nil && !strings.Contains(err.Error(), "b.pt") {
			t.Errorf("%q (%v), want %q", got, err, test.want)
		}
	}
}

// When the time is over it is unknown.
func TestCheckTorchTimeout(t *testing.T) {
	d := newDisk(t)
	d.play(write("x.pt", filetest.Torch(make([]byte, 2<<20))))
	ctx, cancel := context.WithCancel(context.Background())
	o := Options{Level: Everything, Read: func(int) { cancel() }}
	_, got := torchLook(newLook(ctx, d.fs(), o), func(l *look, c *Checkpoint) error { return checkOne(l, c, "x.pt") })
	if got != problem.CheckTimeout {
		t.Errorf("%q, want %q", got, problem.CheckTimeout)
	}
}
