package format

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// dcpSave is what dcp.save does with two ranks and two threads each: every rank writes a file for each thread, one of
// them empty; then the first of them writes the marker under another name, removes that of an earlier save and renames
// its own.
func dcpSave(dir string) []op {
	names := []string{"__0_0.distcp", "__0_1.distcp", "__1_0.distcp"}
	return []op{
		write(dir+"/__0_0.distcp", filler(100)),
		write(dir+"/__1_0.distcp", filler(50)),
		write(dir+"/__0_1.distcp", filler(70)),
		write(dir+"/__1_1.distcp", nil),
		write(dir+"/.metadata.tmp", filetest.DCPMetadata(names, []int64{100, 70, 50})),
		remove(dir + "/.metadata"),
		rename(dir+"/.metadata.tmp", dir+"/.metadata"),
		touched(dir + "/.metadata"), // a rename keeps the time, which is that of the write after the shards
	}
}

var dcpOptions = Options{Format: "dcp", Level: Manifests}

func TestDCPPrefixes(t *testing.T) {
	save := dcpSave("step-100")
	playPrefixes(t, dcpOptions, "step-100", save, len(save)-1) // the last changes nothing but a time
}

// A second save into the same directory is not over before its marker is there.
func TestDCPOverwrite(t *testing.T) {
	save := dcpSave("step-100")
	for n := range len(save) + 1 {
		d := newDisk(t)
		d.play(save...)
		d.play(save[:n]...)
		want := problem.OverwriteInProgress
		switch {
		case n == 0 || n >= 7:
			want = ""
		case n == 6:
			want = problem.NoMarker
		}
		for level := Names; level <= Everything; level++ {
			c := one(t, see(t, d.fs(), Options{Format: "dcp", Level: level}), "step-100")
			if c.Reason != want {
				t.Errorf("after %d operations of the second, level %d: %q (%s), want %q", n, level, c.Reason, c.Detail, want)
			}
		}
	}
}

func TestDCPMutations(t *testing.T) {
	mutate(t, dcpOptions, "step-100", dcpSave("step-100"), []mutation{
		{"nothing", nil, ""},
		{"a shard is missing", []op{remove("step-100/__1_0.distcp")}, problem.MissingShard},
		{"a shard is empty", []op{truncated("step-100/__1_0.distcp", 0)}, problem.EmptyFile},
		{"a shard is cut", []op{truncated("step-100/__1_0.distcp", -1)}, problem.Truncated},
		{"a shard is longer", []op{appended("step-100/__1_0.distcp", []byte{0})}, ""},
		{"a shard is zeros", []op{zeroed("step-100/__1_0.distcp", 0, 50)}, problem.BadZip},
		{"a shard has zeros within", []op{zeroed("step-100/__1_0.distcp", 20, 30)}, ""}, // nothing on disk tells
		{"a shard that is not named is missing", []op{remove("step-100/__1_1.distcp")}, ""},
		{"a shard is younger", []op{touched("step-100/__1_0.distcp")}, problem.OverwriteInProgress},
		{"a shard of more ranks is younger", []op{write("step-100/__7_0.distcp", nil)}, ""}, // nothing names it
		{"shards of more ranks from before", []op{write("step-100/__7_0.distcp", make([]byte, 9)), touched("step-100/.metadata")}, ""},
		{"the next marker is begun", []op{writeText("step-100/.metadata.tmp", "")}, problem.OverwriteInProgress},
		{"an old marker was left", []op{writeText("step-100/.metadata.tmp", "x"), touched("step-100/.metadata")}, ""},
		{"the marker is empty", []op{truncated("step-100/.metadata", 0)}, problem.EmptyFile},
		{"the marker is cut", []op{truncated("step-100/.metadata", -1)}, problem.BadPickle},
		{"the marker is half", []op{truncated("step-100/.metadata", 100)}, problem.BadPickle},
		{"the marker has zeros", []op{zeroed("step-100/.metadata", 40, 60)}, problem.BadPickle},
		{"the marker has zeros behind it", []op{appended("step-100/.metadata", make([]byte, 9))}, problem.BadPickle},
		{"the marker is missing", []op{remove("step-100/.metadata")}, problem.NoMarker},
		{"a marker that leads out", []op{write("step-100/.metadata", filetest.DCPMetadata([]string{"../x.distcp"}, []int64{1}))},
			problem.MissingShard},
		{"a temporary name", []op{rename("step-100", "x"), rename("x", "step-100.tmp"), mkdir("step-100"),
			write("step-100/.metadata.tmp", nil)}, problem.NoMarker},
	})
}

func TestDCPTemporaryNames(t *testing.T) {
	d := newDisk(t)
	d.play(dcpSave("step-100.tmp")...)
	if c := one(t, see(t, d.fs(), dcpOptions), "step-100.tmp"); c.Reason != problem.InProgress {
		t.Errorf("%q, want %q", c.Reason, problem.InProgress)
	}
}

func TestDCPFields(t *testing.T) {
	d := newDisk(t)
	d.play(dcpSave("epoch2_step100")...)
	marker := d.now
	d.play(mkdir("step-200"), mkdir("logs"), dcpSave("final")[0])
	d.play(dcpSave("quarantine")...)
	cs := see(t, d.fs(), dcpOptions)
	if len(cs) != 2 {
		t.Fatal(list(cs))
	}
	c := one(t, cs, "epoch2_step100")
	if c.Step != 100 || c.StepFrom != StepFromName || c.Tag != "epoch2_step100" || !c.Complete || !c.Resumable || !c.Elastic ||
		c.Basis != BasisManifest || c.ShardsExpected != 3 || c.ShardsFound != 3 || !c.Modified.Equal(marker) ||
		c.ModifiedFrom != ModifiedMarker || c.Size <= 220 {
		t.Errorf("%+v", c)
	}
	if c := one(t, cs, "final"); c.Step != -1 || c.Reason != problem.NoMarker {
		t.Errorf("%+v", c)
	}
	d.play(remove("epoch2_step100/__1_0.distcp"))
	if c := one(t, see(t, d.fs(), dcpOptions), "epoch2_step100"); c.ShardsExpected != 3 || c.ShardsFound != 2 {
		t.Errorf("%+v", c)
	}
	c = one(t, see(t, os.DirFS(d.path("final")), dcpOptions), ".")
	if c.Reason != problem.NoMarker {
		t.Errorf("%+v", c)
	}
}

// dcpApart is what dcp.save does with use_collectives=False: every rank for itself.
func dcpApart() []op {
	var ops []op
	for rank := range 3 {
		name := fmt.Sprintf("a/__%d", rank)
		ops = append(ops, write(name+"_0.distcp", filler(40)),
			write(name+".metadata.tmp", filetest.DCPMetadata([]string{fmt.Sprintf("__%d_0.distcp", rank)}, []int64{40})),
			rename(name+".metadata.tmp", name+".metadata"))
	}
	return ops
}

// That a rank has written nothing yet can only be seen when one after it has.
func TestDCPApart(t *testing.T) {
	playPrefixes(t, dcpOptions, "a", dcpApart(), 3, 6)
	d := newDisk(t)
	d.play(dcpApart()...)
	c := one(t, see(t, d.fs(), dcpOptions), "a")
	if c.WorldSize != 3 || c.Elastic || c.ShardsExpected != 3 || c.ShardsFound != 3 || c.Basis != BasisGrid {
		t.Errorf("%+v", c)
	}
	mutate(t, dcpOptions, "a", dcpApart(), []mutation{
		{"a marker is missing", []op{remove("a/__1.metadata")}, problem.NoMarker},
		{"a rank is missing", []op{remove("a/__1.metadata"), remove("a/__1_0.distcp")}, problem.NoMarker},
		{"a shard is missing", []op{remove("a/__2_0.distcp")}, problem.MissingShard},
		{"a shard is cut", []op{truncated("a/__2_0.distcp", -1)}, problem.Truncated},
		{"a shard is younger", []op{touched("a/__0_0.distcp")}, problem.OverwriteInProgress},
		{"a rank beyond all", []op{write("a/__999999999_0.distcp", nil)}, problem.UnknownFormat},
	})
}

// The writer for Hugging Face leaves no marker, so that any number of whole shards looks whole.
func TestDCPHuggingFace(t *testing.T) {
	shard := func(n int) string { return fmt.Sprintf("a/shard-%05d-model-00001-of-00001.safetensors", n) }
	var ops []op
	for n := range 3 {
		ops = append(ops, write(shard(n+1), filetest.Safetensors(9)))
	}
	playPrefixes(t, dcpOptions, "a", ops, 1, 2)
	mutate(t, dcpOptions, "a", ops, []mutation{
		{"whole", nil, problem.WeightsOnly},
		{"a shard is missing", []op{remove(shard(2))}, problem.MissingShard},
		{"a shard is cut", []op{truncated(shard(2), -1)}, problem.Truncated},
	})
	// Put together, with the index as the last.
	var together []op
	for n := range 2 {
		together = append(together, write(strings.Replace(shard(n+1), "a/", "a/sharded/", 1), filetest.Safetensors(9)))
	}
	together = append(together, write("a/model-00001-of-00001.safetensors", filetest.Safetensors(18)),
		write("a/model.safetensors.index.json", filetest.WeightIndex("model-00001-of-00001.safetensors")))
	playPrefixes(t, dcpOptions, "a", together)
	mutate(t, dcpOptions, "a", together, []mutation{
		{"whole", nil, problem.WeightsOnly},
		{"cut", []op{truncated("a/model-00001-of-00001.safetensors", -1)}, problem.Truncated},
	})
}

func TestDCPUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(dcpSave("step-100")...)
	for _, err := range []error{syscall.EIO, syscall.EACCES, syscall.ESTALE} {
		for _, path := range []string{"step-100/.metadata", "step-100/__1_0.distcp"} {
			c := one(t, see(t, failing{d.fs(), path, err}, dcpOptions), "step-100")
			if !c.Reason.Unknown() || c.Complete {
				t.Errorf("%s: %v is %q", path, err, c.Reason)
			}
		}
		_, found := Find(context.Background(), failing{d.fs(), "step-100", err}, dcpOptions)
		if !problem.Of(found, problem.NoMarker).Reason.Unknown() {
			t.Errorf("%v of the directory is %v", err, found)
		}
	}
}

func TestDCPNames(t *testing.T) {
	for name, want := range map[string]int64{
		"__0_0.distcp": 0, "__17_3.distcp": 17, "optimizer__4_0.distcp": 4, "a__b__5_1.distcp": 5,
		"__0.distcp": -1, "__a_0.distcp": -1, "0_0.distcp": -1, "__0_0.distcp.tmp": -1, ".distcp": -1,
	} {
		rank, ok := distcpRank(name)
		if !ok {
			rank = -1
		}
		if rank != want {
			t.Errorf("%s is of rank %d, want %d", name, rank, want)
		}
	}
	for name, want := range map[string]int64{"step-100": 100, "epoch2_step7": 7, "7": 7, "final": -1, "": -1, "100-x": 100,
		"9999999999999999999": -1} {
		step, ok := lastNumber(name)
		if !ok {
			step = -1
		}
		if step != want {
			t.Errorf("%q is of step %d, want %d", name, step, want)
		}
	}
}

// dcpBig is a checkpoint of very many files, in memory.
func dcpBig(shards int) fs.FS {
	big := fstest.MapFS{}
	names, sizes := make([]string, shards), make([]int64, shards)
	for i := range names {
		names[i], sizes[i] = fmt.Sprintf("__%d_0.distcp", i), 10
		big["s-1/"+names[i]] = &fstest.MapFile{Data: make([]byte, 10), ModTime: firstSecond}
	}
	big["s-1/.metadata"] = &fstest.MapFile{Data: filetest.DCPMetadata(names, sizes), ModTime: firstSecond.Add(time.Second)}
	return big
}

func BenchmarkDCP1024(b *testing.B) {
	d := newDisk(b)
	b.StopTimer()
	if err := os.CopyFS(d.root, dcpBig(1024)); err != nil {
		b.Fatal(err)
	}
	d.play(touched("s-1/.metadata"))
	d.must(os.Chtimes(d.path("s-1/.metadata"), time.Now(), time.Now().Add(time.Minute)))
	b.StartTimer()
	for b.Loop() {
		found, err := Find(context.Background(), d.fs(), dcpOptions)
		if err != nil || len(found.Checkpoints) != 1 {
			b.Fatal(err)
		}
		Check(context.Background(), d.fs(), found.Checkpoints[0], dcpOptions)
		if c := found.Checkpoints[0]; !c.Complete {
			b.Fatal(c.Detail)
		}
	}
}
