package command

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

// slow is a file server that takes a second for each answer about a file.
type slow struct{ fstest.MapFS }

func (s slow) Stat(name string) (fs.FileInfo, error) {
	time.Sleep(time.Second)
	return s.MapFS.Stat(name)
}

// TestCheckpointSlow lists what there is when there was no time to look at all closely, and says so.
func TestCheckpointSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := fstest.MapFS{}
		for _, s := range []string{"step-1", "step-2", "step-3"} {
			files[s+"/weights"], files[s+"/DONE"] = &fstest.MapFile{Data: []byte("w"), ModTime: noon}, &fstest.MapFile{Data: []byte("1"), ModTime: noon}
		}
		p := &program{openTree: func(context.Context, string) (fs.FS, error) { return slow{files}, nil }}
		begin := time.Now()
		look := lookWith(p, ruled("ls", "--timeout", "1h", "s3://b")...)
		if look.code != 0 || look.err != "" || strings.Count(look.out, "complete") != 3 {
			t.Fatalf("%+v", look)
		}
		one := time.Since(begin) / 6 // each is read twice
		look = lookWith(p, ruled("ls", "--timeout", (4*one+one/2).String(), "s3://b")...)
		if look.code != 0 || strings.Count(look.out, "complete") != 3 || !strings.Contains(look.err, "the 2 oldest") || !strings.Contains(look.out, "*    3") {
			t.Errorf("%+v", look)
		}
		look = lookWith(p, ruled("ls", "--timeout", (one/2).String(), "s3://b")...)
		if look.code != 0 || strings.Count(look.out, "check_timeout") != 3 || strings.Contains(look.out, "*") ||
			!strings.Contains(look.err, "nothing can be chosen") {
			t.Errorf("%+v", look)
		}
	})
}

// failing is a tree of which one file cannot be read.
type failing struct {
	fstest.MapFS
	path string
}

func (f failing) Open(name string) (fs.File, error) {
	if name == f.path {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("input/output error")}
	}
	return f.MapFS.Open(name)
}

func (f failing) Stat(name string) (fs.FileInfo, error) {
	if name == f.path {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: errors.New("input/output error")}
	}
	return f.MapFS.Stat(name)
}

// hanging is a file server that does not answer until the test is over.
type hanging struct{ until chan struct{} }

func (h hanging) Open(name string) (fs.File, error) {
	<-h.until
	return nil, fs.ErrNotExist
}

func TestCheckpointHang(t *testing.T) {
	for _, command := range []string{"ls", "select", "verify"} {
		synctest.Test(t, func(t *testing.T) {
			until := make(chan struct{})
			defer close(until)
			p := &program{openTree: func(context.Context, string) (fs.FS, error) { return hanging{until}, nil }}
			begin := time.Now()
			res := lookWith(p, ruled(command, "--timeout", "10s", "s3://bucket")...)
			if took := time.Since(begin); res.code != codeUnknown || took > 12*time.Second || took < 10*time.Second || !strings.Contains(res.err, "does not answer") {
				t.Errorf("%s after %v: %+v", command, took, res)
			}
		})
	}
}
