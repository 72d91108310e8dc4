package output

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// disk takes room bytes and is full then.
type disk struct {
	bytes.Buffer
	room   int
	closed bool
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (d *disk) Close() error {
	d.closed = true
	return nil
}

func TestFileWithGaps(t *testing.T) {
	type step struct {
		room int // what becomes free before
		text string
	}
	for _, test := range []struct {
		name    string
		steps   []step
		want    string
		reports int
	}{
		{"no gap", []step{{10, "a\x00b"}, {10, "c\n"}}, "a\x00bc\n", 0},
		{"full for ever", []step{{3, "ab\ncd\n"}, {0, "e\n"}, {0, "f\n"}}, "ab\n", 1},
		{"between lines", []step{{3, "ab\ncd\n"}, {9, "e\n"}}, "ab\ne\n", 1},
		{"within a line", []step{{4, "ab\ncd\n"}, {9, "e\n"}}, "ab\nc\ne\n", 1},
		{"the line goes on", []step{{4, "ab\ncd"}, {9, "ef\ng\n"}}, "ab\nc\ng\n", 1},
		{"the line ends with the chunk", []step{{4, "ab\ncd"}, {9, "ef\n"}, {0, "g\n"}}, "ab\nc\ng\n", 1},
		{"no line ends at all", []step{{1, "ab"}, {9, "cd"}, {0, "ef"}}, "a\ncdef", 1},
		{"room for a newline only", []step{{1, "ab\n"}, {1, "c\n"}, {9, "d\n"}}, "a\nd\n", 1},
		{"two gaps", []step{{1, "ab\n"}, {4, "c\nde\n"}, {9, "f\n"}}, "a\nc\nd\nf\n", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := new(disk)
			reports := 0
			f := NewFile(d, func(err error) {
				reports++
				if !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("reported: %v", err)
				}
			})
			for _, step := range test.steps {
				d.room += step.room
				f.write([]byte(step.text))
			}
			if got := d.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if reports != test.reports {
				t.Errorf("%d reports, want %d", reports, test.reports)
			}
		})
	}
}

func TestOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stdout.log")
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	for _, text := range []string{"one\n", "two\n"} {
		f, err := OpenFile(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		f.write([]byte(text))
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "one\ntwo\n" {
		t.Errorf("got %q, %v", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := OpenFile(filepath.Join(path, "x"), nil); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("not a directory: %v", err)
	}
	if _, err := OpenFile(path+".d/x", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}
