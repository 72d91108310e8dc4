package file

import (
	"errors"
	"os"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// TestOCDBTTree follows a store that TensorStore has written (testdata/orbax/README).
func TestOCDBTTree(t *testing.T) {
	manifest, err := os.ReadFile("testdata/orbax/tree/manifest.ocdbt")
	if err != nil {
		t.Fatal(err)
	}
	read := func(spoil int64) func(string, int64, int64) ([]byte, error) {
		return func(name string, at, length int64) ([]byte, error) {
			data, err := os.ReadFile("testdata/orbax/tree/" + name)
			if err != nil || at+length > int64(len(data)) {
				return nil, errors.Join(err, problem.New(problem.Truncated, "cut"))
			}
			if spoil >= 0 {
				data[at+spoil] ^= 1
			}
			return data[at : at+length], nil
		}
	}
	files, err := OCDBTTree(manifest, read(-1))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range files {
		info, err := os.Stat("testdata/orbax/tree/" + name)
		if err != nil || x.End <= 0 || x.End > info.Size() {
			t.Errorf("%s: %v, %+v", name, err, x)
		}
	}
	if len(files) < 2 {
		t.Errorf("%v", files)
	}
	for _, at := range []int64{0, 20} {
		var p *problem.Error
		if _, err := OCDBTTree(manifest, read(at)); !errors.As(err, &p) || p.Reason.Unknown() {
			t.Errorf("spoilt at byte %d: %v", at, err)
		}
	}
}

func FuzzOCDBTTree(f *testing.F) {
	manifest, err := os.ReadFile("testdata/orbax/tree/manifest.ocdbt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(manifest, []byte("node"))
	f.Fuzz(func(_ *testing.T, manifest, node []byte) {
		_, _ = OCDBTTree(manifest, func(string, int64, int64) ([]byte, error) { return node, nil })
	})
}
