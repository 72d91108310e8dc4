package format

import (
	"bytes"
	"io/fs"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// snapshotSave is the order of Snapshot.take with two ranks.
func snapshotSave(dir string) []op {
	manifest := `{"version": "0.1.0", "world_size": 2, "manifest": {
"0/m": {"type": "OrderedDict", "keys": ["weight", 0]},
"0/m/weight": {"type": "Tensor", "location": "replicated/m/weight", "serializer": "buffer_protocol", "dtype": "torch.float32", "shape": [2, 4], "replicated": true, "byte_range": null},
"1/m/weight": {"type": "Tensor", "location": "replicated/m/weight", "serializer": "buffer_protocol", "dtype": "torch.float32", "shape": [2, 4], "replicated": true, "byte_range": null},
"0/e": {"type": "ShardedTensor", "shards": [{"offsets": [0], "sizes": [3], "tensor": {"type": "Tensor", "location": "sharded/e_0", "serializer": "buffer_protocol", "dtype": "torch.int64", "shape": [3], "replicated": false, "byte_range": null}}]},
"1/o": {"type": "Tensor", "location": "batched/dc6e", "serializer": "buffer_protocol", "dtype": "torch.float32", "shape": [2], "replicated": false, "byte_range": [4, 12]},
"1/p": {"type": "object", "location": "1/p", "serializer": "torch_save", "obj_type": "builtins.set", "replicated": false},
"1/z": {"type": "Tensor", "location": "1/z", "serializer": "buffer_protocol", "dtype": "torch.bool", "shape": [0, 2], "replicated": false, "byte_range": null},
"1/n": {"type": "int", "serialized_value": "3", "replicated": false, "readable": null}
}}`
	return []op{
		write(dir+"/replicated/m/weight", make([]byte, 32)),
		write(dir+"/sharded/e_0", make([]byte, 24)),
		write(dir+"/batched/dc6e", make([]byte, 12)),
		write(dir+"/1/p", filetest.Torch([]byte("DATA"))),
		write(dir+"/1/z", nil),
		writeText(dir+"/.snapshot_metadata", manifest[:40]),
		writeText(dir+"/.snapshot_metadata", manifest),
	}
}

func TestTorchSnapshotPrefixes(t *testing.T) {
	playPrefixes(t, Options{}, "epoch_0_step_30", snapshotSave("epoch_0_step_30"))
	playPrefixes(t, Options{}, ".", snapshotSave("."))
}

func TestTorchSnapshotMutations(t *testing.T) {
	mutate(t, Options{}, "step_3", snapshotSave("step_3"), []mutation{
		{"nothing", nil, ""},
		{"no manifest", []op{remove("step_3/.snapshot_metadata"), func(d *disk) { d.play(snapshotSave("step_1")...) }}, problem.NoMarker},
		{"an empty manifest", []op{truncated("step_3/.snapshot_metadata", 0)}, problem.EmptyFile},
		{"a cut manifest", []op{truncated("step_3/.snapshot_metadata", -1)}, problem.Truncated},
		{"a garbled manifest", []op{changed("step_3/.snapshot_metadata", func(b []byte) []byte { b[70] = 0; return b })}, problem.BadJSON},
		{"a manifest that leads out", []op{changed("step_3/.snapshot_metadata", func([]byte) []byte {
			return []byte(`{"world_size": 1, "manifest": {"0/x": {"type": "object", "location": "../../etc/passwd"}}}`)
		})}, problem.BadJSON},
		{"a replicated file is missing", []op{remove("step_3/replicated/m/weight")}, problem.MissingShard},
		{"a shard is missing", []op{remove("step_3/sharded/e_0")}, problem.MissingShard},
		{"a file of a rank is missing", []op{remove("step_3/1/p")}, problem.MissingShard},
		{"a shard is empty", []op{truncated("step_3/sharded/e_0", 0)}, problem.EmptyFile},
		{"an object is empty", []op{truncated("step_3/1/p", 0)}, problem.EmptyFile},
		{"an object is cut", []op{truncated("step_3/1/p", -1)}, problem.Truncated},
		{"a shard is cut", []op{truncated("step_3/sharded/e_0", -1)}, problem.Truncated},
		{"what is in one file is cut", []op{truncated("step_3/batched/dc6e", -1)}, problem.Truncated},
		{"a shard is longer", []op{appended("step_3/sharded/e_0", []byte{0})}, problem.SizeMismatch},
		{"more in one file than this says", []op{appended("step_3/batched/dc6e", []byte{0})}, ""},
		{"a file of the next save", []op{touched("step_3/sharded/e_0")}, problem.OverwriteInProgress},
		{"a file that it does not name", []op{writeText("step_3/7/x", "")}, ""},
	})
	mutate(t, Options{Level: Everything}, "step_3", snapshotSave("step_3"), []mutation{
		{"a hole in an object", []op{changed("step_3/1/p", func(b []byte) []byte {
			copy(b[bytes.Index(b, []byte("DATA")):], "\x00\x00")
			return b
		})}, problem.HashMismatch},
	})
}

func TestTorchSnapshotFields(t *testing.T) {
	d := newDisk(t)
	d.play(snapshotSave("epoch_1_step_30")...)
	d.play(snapshotSave("epoch_2_step_60")...)
	d.play(remove("epoch_2_step_60/1"))
	cs := see(t, d.fs(), Options{Level: Manifests})
	c, torn := one(t, cs, "epoch_1_step_30"), one(t, cs, "epoch_2_step_60")
	if c.Step != 30 || c.Basis != BasisManifest || c.WorldSize != 2 || c.Elastic || c.ShardsExpected != 5 || c.ShardsFound != 5 ||
		c.ModifiedFrom != ModifiedMarker || !c.Modified.Equal(firstSecond.Add(70e9)) {
		t.Errorf("%+v", c)
	}
	if torn.Step != 60 || torn.Reason != problem.MissingShard || torn.ShardsFound != 3 || cs[0] != torn {
		t.Errorf("%+v", torn)
	}
	for _, ops := range [][]op{{mkdir("step_3")}, {writeText("step_3/0/x", ""), writeText("step_3/README", "")}, {writeText("step_3/0/x", "")}} {
		d = newDisk(t)
		d.play(ops...)
		if cs := see(t, d.fs(), Options{Format: torchSnapshot.name}); len(cs) != 0 {
			t.Error(list(cs))
		}
	}
}

func TestTorchSnapshotSample(t *testing.T) {
	d := newDisk(t)
	marker := testFile(t, "../../file/testdata/torchsnapshot/snapshot_metadata.json")
	d.play(write("step_3/batched/dc6ecebd-f1d4-4d25-8cdf-ebe1d8605189", make([]byte, 128)))
	for _, name := range []string{"o/param_groups/0/betas", "o/param_groups/0/foreach", "o/param_groups/0/fused", "p/obj"} {
		d.play(write("step_3/0/"+name, filetest.Torch()))
	}
	d.play(write("step_3/.snapshot_metadata", marker))
	c := one(t, see(t, d.fs(), Options{Level: Everything}), "step_3")
	if !c.Complete || !c.Resumable || c.WorldSize != 1 {
		t.Errorf("%+v", c)
	}
}

func TestTorchSnapshotUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(snapshotSave("step_3")...)
	for _, path := range []string{".snapshot_metadata", "sharded/e_0", "1/p"} {
		for _, err := range []error{fs.ErrPermission, syscall.EIO} {
			c := one(t, see(t, failing{d.fs(), "step_3/" + path, err}, Options{Level: Manifests}), "step_3")
			if !c.Reason.Unknown() {
				t.Errorf("%s %v: %s %s", path, err, c.Reason, c.Detail)
			}
		}
	}
}
