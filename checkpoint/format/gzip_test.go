package format

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGzip reads the step of a compressed file that is far larger than what is held of it in memory, and sees that it was
// cut.
func TestGzip(t *testing.T) {
	large := filetest.Zip(
		filetest.Record{Name: "archive/data.pkl", Data: pickled("step", 700, "model", []any{"weight", pickledTensor(0)})},
		filetest.Record{Name: "archive/data/0", Data: make([]byte, 3*maxKept)})
	packed := gzipped(t, large)
	d := newDisk(t)
	d.play(write("ckpt_700.pt.gz", packed), write("ckpt_800.pt.gz", packed[:len(packed)-9]), write("latest.pt.gz", packed))
	spent := new(atomic.Int64)
	cs := see(t, d.fs(), Options{Level: Manifests, Unpacked: spent})
	for _, path := range []string{"ckpt_700.pt.gz", "latest.pt.gz"} {
		if c := one(t, cs, path); !c.Complete || !c.Resumable || c.Step != 700 || c.StepFrom != StepFromContent || c.Doubt != "" {
			t.Errorf("%+v", c)
		}
	}
	if c := one(t, cs, "ckpt_800.pt.gz"); c.Reason != problem.Truncated {
		t.Errorf("%+v", c)
	}
	if n := spent.Load(); n < 9*maxKept {
		t.Errorf("%d bytes are said to have been unpacked", n)
	}
	// More than is unpacked: it is open whether it is whole, and that is said.
	spent.Store(maxUnpacked - maxKept)
	if c := one(t, see(t, d.fs(), Options{Level: Manifests, Unpacked: spent}), "ckpt_700.pt.gz"); !c.Complete ||
		!strings.Contains(c.Doubt, "unknown") {
		t.Errorf("%+v", c)
	}
}
