package file

import (
	"bytes"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func TestOCDBTManifest(t *testing.T) {
	good := sample(t, "orbax/manifest.ocdbt")
	for _, test := range []struct {
		name string
		b    []byte
		want problem.Reason
	}{
		{"a sample", good, ""},
		{"that of the tests", filetest.OCDBTManifest("body"), ""},
		{"empty", nil, problem.EmptyFile},
		{"a few bytes", good[:8], problem.Truncated},
		{"a byte is missing", good[:len(good)-1], problem.Truncated},
		{"a byte follows", append(bytes.Clone(good), 0), problem.SizeMismatch},
		{"zeros", make([]byte, len(good)), problem.BadIndex},
		{"a hole", append(append(bytes.Clone(good[:40]), make([]byte, 8)...), good[48:]...), problem.HashMismatch},
	} {
		err := OCDBTManifest(strict{t, test.b}, int64(len(test.b)), true)
		if got := reasonOf(t, err); got != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		err = OCDBTManifest(strict{t, test.b}, int64(len(test.b)), false)
		if got := reasonOf(t, err); got != test.want && (got != "" || test.want != problem.HashMismatch) {
			t.Errorf("%s without the sum: %v, want %s", test.name, err, test.want)
		}
	}
}

func TestSavedModelGraph(t *testing.T) {
	good := []byte("\x08\x01\x12\x04abcd")
	for _, test := range []struct {
		name string
		b    []byte
		want problem.Reason
	}{
		{"whole", good, ""},
		{"two graphs", []byte("\x08\x01\x12\x04abcd\x12\x01x"), ""},
		{"empty", nil, problem.EmptyFile},
		{"a byte is missing", good[:len(good)-1], problem.Truncated},
		{"no length", good[:3], problem.Truncated},
		{"zeros follow", append(bytes.Clone(good), make([]byte, 64)...), problem.BadIndex},
		{"another message", []byte("\x1a\x01a"), problem.BadIndex},
		{"no end of a number", bytes.Repeat([]byte{0xff}, 64), problem.BadIndex},
		{"a length past all files", []byte("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), problem.Truncated},
		{"many graphs", bytes.Repeat([]byte("\x08\x01"), 2000), problem.BadIndex},
	} {
		err := SavedModel(strict{t, test.b}, int64(len(test.b)))
		if got := reasonOf(t, err); got != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

func FuzzOCDBTManifest(f *testing.F) {
	f.Add(sample(f, "orbax/manifest.ocdbt"))
	f.Add([]byte("\x08\x01\x12\x04abcd"))
	f.Fuzz(func(t *testing.T, b []byte) {
		reasonOf(t, OCDBTManifest(strict{t, b}, int64(len(b)), true))
		reasonOf(t, SavedModel(strict{t, b}, int64(len(b))))
	})
}
