package format

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// tfSave is the order in which CheckpointManager writes with two data files, of which the second is in the middle of being
// renamed for a moment. The number is in the name.
func tfSave(stem, pointer string) []op {
	index, data := filetest.Bundle([]string{"first", "second " + stem}, []string{"third"})
	temp := stem + "_temp"
	part := func(i int) string { return fmt.Sprintf("%s/part-0000%d-of-00002", temp, i) }
	final := func(i int) string { return fmt.Sprintf("%s.data-0000%d-of-00002", stem, i) }
	var ops []op
	for i := range 2 {
		written := part(i) + ".data-00000-of-00001"
		ops = append(ops,
			write(written+".tempstate123", data[i]), rename(written+".tempstate123", written),
			write(part(i)+".index.tempstate456", index), rename(part(i)+".index.tempstate456", part(i)+".index"))
	}
	ops = append(ops,
		rename(part(0)+".data-00000-of-00001", final(0)), rename(part(1)+".data-00000-of-00001", final(1)),
		write(stem+".index", nil), write(stem+".index", index[:20]), write(stem+".index", index),
		remove(temp))
	if pointer != "" {
		ops = append(ops, writeText("checkpoint.tmp0ca1", pointer), rename("checkpoint.tmp0ca1", "checkpoint"))
	}
	return ops
}

// tfState is the file "checkpoint".
func tfState(stems ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model_checkpoint_path: %q\n", stems[len(stems)-1])
	for _, s := range stems {
		fmt.Fprintf(&b, "all_model_checkpoint_paths: %q\n", s)
	}
	for i := range stems {
		fmt.Fprintf(&b, "all_model_checkpoint_timestamps: %d.5\n", 1700000000+i)
	}
	return b.String() + "last_preserved_timestamp: 1700000000.25\n"
}

func TestTFBundlePrefixes(t *testing.T) {
	save := tfSave("ckpt-7", tfState("ckpt-7"))
	// It is complete with its index: what follows is to be removed, and the pointer.
	playPrefixes(t, Options{}, "ckpt-7", save, len(save)-3, len(save)-2, len(save)-1)
	save = tfSave("model.ckpt-0", "")
	playPrefixes(t, Options{}, "model.ckpt-0", save, len(save)-1)
	// Where nothing can be renamed there are no temporary names.
	index, data := filetest.Bundle([]string{"first"})
	playPrefixes(t, Options{}, "cp", []op{write("cp.data-00000-of-00001", data[0][:2]), write("cp.data-00000-of-00001", data[0]),
		write("cp.index", index[:len(index)-1]), write("cp.index", index)})
}

func TestTFBundleMutations(t *testing.T) {
	save := tfSave("ckpt-7", tfState("ckpt-6", "ckpt-7"))
	first, second := "ckpt-7.data-00000-of-00002", "ckpt-7.data-00001-of-00002"
	mutate(t, Options{}, "ckpt-7", save, []mutation{
		{"nothing", nil, ""},
		{"no index, as when it is removed", []op{remove("ckpt-7.index")}, problem.NoMarker},
		{"an empty index", []op{truncated("ckpt-7.index", 0)}, problem.EmptyFile},
		{"an index without its last byte", []op{truncated("ckpt-7.index", -1)}, problem.Truncated},
		{"a hole in the index", []op{zeroed("ckpt-7.index", 10, 20)}, problem.HashMismatch},
		{"zeros after the index", []op{appended("ckpt-7.index", make([]byte, 100))}, problem.Truncated},
		{"a data file is missing", []op{remove(second)}, problem.MissingShard},
		{"a data file is empty", []op{truncated(second, 0)}, problem.EmptyFile},
		{"a data file without its last byte", []op{truncated(first, -1)}, problem.Truncated},
		{"a data file is a directory", []op{remove(first), mkdir(first)}, problem.MissingShard},
		{"a data file of the next save", []op{touched(first)}, problem.OverwriteInProgress},
		{"no pointer", []op{remove("checkpoint")}, ""},
		{"a torn pointer", []op{truncated("checkpoint", 5)}, ""},
		{"an empty pointer", []op{truncated("checkpoint", 0)}, ""},
		{"a pointer to another", []op{writeText("checkpoint", tfState("ckpt-9"))}, ""},
		{"old Orbax's pointer of the same name", []op{write("checkpoint", []byte("\x81\xa6params\x80"))}, ""},
		{"a large file of the same name", []op{write("checkpoint", make([]byte, 2<<20))}, ""},
		{"a directory of the same name", []op{remove("checkpoint"), mkdir("checkpoint")}, ""},
		{"data files of an earlier save with more of them", []op{
			write("ckpt-7.data-00002-of-00003", nil), write("ckpt-7.data-00001-of-00003", nil), write("ckpt-7.data-00000-of-00003", nil)}, ""},
		{"a graph beside it", []op{writeText("ckpt-7.meta", "graph")}, ""},
		{"temporary files that were left behind", []op{write("ckpt-7_temp/part-00000-of-00001.index", nil)}, ""},
		{"copied, with the same time for all", []op{func(d *disk) {
			for _, name := range []string{"ckpt-7.index", first, second} {
				touched(name)(d)
			}
		}}, ""},
	})
	mutate(t, Options{Level: Everything}, "ckpt-7", save, []mutation{
		{"nothing", nil, ""},
		{"a hole in a data file", []op{zeroed(second, 1, 3)}, problem.HashMismatch},
	})
	// At the level of the ends, all that the names tell is how many there are to be.
	mutate(t, Options{Level: Ends}, "ckpt-7", save, []mutation{
		{"a data file is missing", []op{remove(second)}, problem.MissingShard},
		{"more data files of an earlier save", []op{write("ckpt-7.data-00002-of-00003", nil)}, ""},
	})
	index, data := filetest.Bundle([]string{"first"}, nil)
	mutate(t, Options{}, "e-1", []op{write("e-1.data-00000-of-00002", data[0]), write("e-1.data-00001-of-00002", nil), write("e-1.index", index)},
		[]mutation{{"one data file with no tensor", nil, ""}})
}

// A real bundle of two data files, with a slice of a larger tensor, and one of Keras with strings.
func TestTFBundleSamples(t *testing.T) {
	d := newDisk(t)
	for _, name := range []string{"ck-5.data-00000-of-00002", "ck-5.data-00001-of-00002", "ck-5.index", "ckpt-1.data-00000-of-00001",
		"ckpt-1.index"} {
		d.play(write(name, testFile(t, "../../file/testdata/tensorflow/"+name)))
	}
	var read atomic.Int64
	cs := see(t, d.fs(), Options{Level: Everything, Read: func(n int) { read.Add(int64(n)) }})
	five, one := one(t, cs, "ck-5"), one(t, cs, "ckpt-1")
	if !five.Complete || five.ShardsExpected != 2 || five.ShardsFound != 2 || five.Basis != BasisManifest || five.Step != 5 ||
		five.Size != 230+54+480 || !five.Elastic || five.ModifiedFrom != ModifiedMarker {
		t.Errorf("%+v", five)
	}
	if !one.Complete || !one.Resumable {
		t.Errorf("%+v", one)
	}
	if read.Load() != 54+480+2703 {
		t.Errorf("%d bytes were told to be read", read.Load())
	}
}

func TestTFBundleFind(t *testing.T) {
	for _, test := range []struct {
		name string
		ops  []op
		want []string // path, step and reason
	}{
		{"steps, not names, give the order", slices.Concat(tfSave("ckpt-9", ""), tfSave("ckpt-10", tfState("ckpt-9", "ckpt-10"))),
			[]string{"ckpt-10 10 ", "ckpt-9 9 "}},
		{"a pointer to nothing", append(tfSave("ckpt-9", ""), writeText("checkpoint", tfState("/old/mount/ckpt-12"))),
			[]string{"ckpt-12 12 pointer_dangling", "ckpt-9 9 "}},
		{"a pointer to nothing, and nothing else", []op{writeText("checkpoint", tfState("../run/ckpt-12"))},
			[]string{"ckpt-12 12 pointer_dangling"}},
		{"an absolute pointer from before a move", append(tfSave("ckpt-9", ""), writeText("checkpoint", tfState("/old/mount/ckpt-9"))),
			[]string{"ckpt-9 9 "}},
		{"a pointer that leads out", append(tfSave("ckpt-9", ""), writeText("checkpoint", tfState(".."))), []string{"ckpt-9 9 "}},
		{"the newest is torn", slices.Concat(tfSave("ckpt-9", ""), tfSave("ckpt-12", "")[:8]), []string{"ckpt-12 12 in_progress", "ckpt-9 9 "}},
		{"the newest is being renamed", slices.Concat(tfSave("ckpt-9", ""), tfSave("ckpt-12", "")[:9]),
			[]string{"ckpt-12 12 in_progress", "ckpt-9 9 "}},
		{"an index alone beside a whole one", append(tfSave("ckpt-9", ""), write("ckpt-8.index", testTFIndex())),
			[]string{"ckpt-9 9 ", "ckpt-8 8 missing_shard"}},
		{"temporary files in the root", []op{write("a-3.data-00000-of-00001.tempstate17", nil)}, []string{"a-3 3 in_progress"}},
		{"the tutorial's names", []op{write("cp-0004.ckpt.data-00000-of-00001", nil)}, []string{"cp-0004.ckpt 4 no_marker"}},
		{"no number", []op{write("weights.data-00000-of-00001", nil)}, []string{"weights -1 no_marker"}},
		{"an index of another program", []op{write("faiss.index", nil)}, nil},
		{"a directory of another program", []op{write("my_temp/file", nil), writeText("checkpoint", "what?")}, nil},
		{"data of another program", []op{write("x.data-00003-of-00002", nil), write("y.data-1-of-2", nil), write(".data-00000-of-00001", nil)}, nil},
	} {
		if got := told(t, test.ops); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func testTFIndex() []byte { index, _ := filetest.Bundle([]string{"first"}); return index }

// The time of a save is noted in the pointer, when it names the checkpoint.
func TestTFBundleTime(t *testing.T) {
	d := newDisk(t)
	d.play(tfSave("ckpt-6", "")...)
	d.play(tfSave("ckpt-7", tfState("/x/ckpt-6", "/x/ckpt-7"))...)
	c := one(t, see(t, d.fs(), Options{}), "ckpt-7")
	if want := time.Unix(1700000001, 5e8); !c.Modified.Equal(want) || c.ModifiedFrom != ModifiedInternal {
		t.Errorf("%v %s, want %v", c.Modified, c.ModifiedFrom, want)
	}
	for _, seconds := range []string{"nan", "-1", "1e300", "inf", "0"} {
		d.play(writeText("checkpoint", "model_checkpoint_path: 'ckpt-7' all_model_checkpoint_paths: 'ckpt-7' all_model_checkpoint_timestamps: "+seconds))
		if c = one(t, see(t, d.fs(), Options{}), "ckpt-7"); !c.Complete || c.ModifiedFrom != ModifiedMarker {
			t.Errorf("%s: %v %s", seconds, c.Modified, c.ModifiedFrom)
		}
	}
}

func TestTFBundleUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(tfSave("ckpt-7", tfState("ckpt-7"))...)
	for _, path := range []string{"checkpoint", "ckpt-7.index", "ckpt-7.data-00001-of-00002"} {
		for _, err := range []error{fs.ErrPermission, syscall.EIO, syscall.ESTALE} {
			c := one(t, see(t, failing{d.fs(), path, err}, Options{Level: Manifests}), "ckpt-7")
			if !c.Reason.Unknown() {
				t.Errorf("%s %v: %s %s", path, err, c.Reason, c.Detail)
			}
		}
	}
	d = newDisk(t)
	d.play(writeText("checkpoint", tfState("ckpt-7")))
	_, err := Find(t.Context(), failing{d.fs(), "checkpoint", syscall.EIO}, Options{})
	if e, ok := errors.AsType[*problem.Error](err); !ok || !e.Reason.Unknown() {
		t.Errorf("nothing but a pointer that cannot be read: %v", err)
	}
}

// TestTFBundleOfWrite has what Checkpoint.write writes under names of the program's own, to which it adds no number.
func TestTFBundleOfWrite(t *testing.T) {
	for stem, want := range map[string]int64{"state_epoch_3": 3, "state_step_300": 300, "ckpt-7": 7, "best": -1, "resnet50": -1} {
		d := newDisk(t)
		d.play(tfSave(stem, "")...)
		if c := one(t, see(t, d.fs(), Options{Level: Manifests}), stem); c.Step != want || (c.Unit == UnitEpoch) != strings.Contains(stem, "epoch") {
			t.Errorf("%s: %d %s, want %d", stem, c.Step, c.Unit, want)
		}
	}
}

// TestTFBundleNames: the steps of bundles whose programs have made the whole name, and no file of one is taken for another state.
func TestTFBundleNames(t *testing.T) {
	for want, stems := range map[int64][]string{
		6000: {"ctpn_2000.ckpt", "ctpn_4000.ckpt", "ctpn_6000.ckpt"},
		12:   {"yolov3_test_loss=2.8177.ckpt-11", "yolov3_test_loss=2.7310.ckpt-12"},
		-1:   {"resnet_50.ckpt"}, // nothing tells that this counts
	} {
		d := newDisk(t)
		for _, stem := range stems {
			index, data := filetest.Bundle([]string{"w"})
			d.play(write(stem+".data-00000-of-00001", data[0]), write(stem+".index", index))
		}
		cs := see(t, d.fs(), Options{Level: Manifests})
		if len(cs) != len(stems) {
			t.Fatalf("%v: %d checkpoints", stems, len(cs))
		}
		if c := one(t, cs, stems[len(stems)-1]); c.Format != "tf_bundle" || c.Step != want {
			t.Errorf("%s: %s, step %d, want %d", c.Path, c.Format, c.Step, want)
		}
	}
}
