package format

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func megatronMetadata(common bool, shards ...string) []byte {
	sizes := make([]int64, len(shards))
	for i := range sizes {
		sizes[i] = 5
	}
	data := filetest.DCPMetadata(shards, sizes)
	keys := filetest.NewPickle(4).Text("optimizer.state.exp_avg.decoder").Op("0")
	if common {
		keys.Text("common_state/shard_0_1").Op("0")
	}
	// What is pushed and popped at once changes nothing.
	return append(keys.Stop()[:len(keys.Stop())-1], data[2:]...)
}

// megatronDistSave is the order in which Megatron-LM saves in a format on torch.distributed.checkpoint.
func megatronDistSave(dir, format string) []op {
	ops := []op{
		mkdir(dir),
		writeText(dir+"/__0_0.distcp", "shard"), writeText(dir+"/__1_0.distcp", "shard"),
		write(dir+"/.metadata.tmp", megatronMetadata(format == "torch_dist", "__0_0.distcp", "__1_0.distcp")),
		rename(dir+"/.metadata.tmp", dir+"/.metadata"),
	}
	if format == "torch_dist" {
		ops = append(ops, writeText(dir+"/metadata.json", `{"sharded_backend": "torch_dist", "sharded_backend_version": 1}`))
	}
	return append(ops, megatronTrack("100"))
}

func TestMegatronDistPrefixes(t *testing.T) {
	for _, format := range []string{"torch_dist", "torch_dcp"} {
		t.Run(format, func(t *testing.T) {
			ops := megatronDistSave("iter_0000100", format)
			playPrefixes(t, Options{}, "iter_0000100", ops, len(ops)-1) // the tracker is a hint
			d := newDisk(t)
			d.play(ops...)
			c := one(t, see(t, d.fs(), Options{Level: Manifests}), "iter_0000100")
			if c.Format != "megatron+"+format || !c.Elastic || !c.Resumable || c.Basis != BasisManifest ||
				c.ShardsExpected != 2 || c.ShardsFound != 2 || c.ModifiedFrom != ModifiedMarker ||
				!strings.HasPrefix(c.Tag, "iter_") {
				t.Errorf("%+v", c)
			}
		})
	}
	t.Run("with a common file", func(t *testing.T) {
		ops := megatronDistSave("iter_0000100", "torch_dist")
		ops = append([]op{write("iter_0000100/common.pt", filetest.Torch())}, ops...)
		playPrefixes(t, Options{}, "iter_0000100", ops, len(ops)-1)
	})
}

func TestMegatronDistMutations(t *testing.T) {
	const dir = "iter_0000100"
	mutate(t, Options{}, dir, megatronDistSave(dir, "torch_dist"), []mutation{
		{"shard missing", []op{remove(dir + "/__1_0.distcp")}, problem.MissingShard},
		{"shard truncated", []op{truncated(dir+"/__1_0.distcp", -1)}, problem.Truncated},
		{"metadata missing", []op{remove(dir + "/.metadata")}, problem.NoMarker},
		{"config empty", []op{truncated(dir+"/metadata.json", 0)}, problem.EmptyFile},
		{"config torn", []op{truncated(dir+"/metadata.json", 12)}, problem.BadJSON},
		{"config of something else", []op{changed(dir+"/metadata.json", func([]byte) []byte { return []byte("{}") })},
			problem.BadJSON},
		{"saved again: a shard", []op{touched(dir + "/__0_0.distcp")}, problem.OverwriteInProgress},
		{"saved again: its metadata", []op{touched(dir + "/.metadata")}, problem.OverwriteInProgress},
		{"saved again: all", []op{touched(dir + "/.metadata"), touched(dir + "/metadata.json")}, ""},
		{"an old common file", []op{write(dir+"/common.pt", filetest.Torch())}, ""},
		{"a torn common file", []op{writeText(dir+"/common.pt", "PK\x03\x04")}, problem.Truncated},
		{"left over from more ranks", []op{func(d *disk) {
			writeText(dir+"/__2_0.distcp", "")(d)
			d.must(os.Chtimes(d.path(dir+"/__2_0.distcp"), firstSecond, firstSecond))
		}}, ""},
		{"without an optimizer", []op{changed(dir+"/.metadata", func(b []byte) []byte {
			return []byte(strings.Replace(string(b), "optimizer", "optimizzz", 1))
		})}, problem.WeightsOnly},
		{"DLRover has not committed", []op{mkdir("._dlrover_ckpt_stage/100.done")}, problem.UnfinishedMarker},
	})
	mutate(t, Options{}, dir, []op{
		writeText(dir+"/model.weight/.zarray", "{}"), writeText(dir+"/metadata.json", `{"sharded_backend": "zarr"}`),
	}, []mutation{{"zarr", nil, ""}})
}

func megatronIntegrityOp(dir string, change func(files map[string]string)) op {
	return func(d *disk) {
		files := map[string]string{}
		for _, name := range []string{".metadata", "__0_0.distcp", "__1_0.distcp", "metadata.json"} {
			data, err := os.ReadFile(d.path(dir + "/" + name))
			d.must(err)
			files[name] = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		change(files)
		data, err := json.Marshal(map[string]any{"algorithm": "sha256", "files": files})
		d.must(err)
		write(dir+"/integrity.json", data)(d)
	}
}

func TestMegatronIntegrity(t *testing.T) {
	const dir = "iter_0000100"
	same := func(map[string]string) {}
	save := append(megatronDistSave(dir, "torch_dist"), megatronIntegrityOp(dir, same))
	flip := changed(dir+"/__0_0.distcp", func(b []byte) []byte { b[0] ^= 1; return b })
	mutate(t, Options{Level: Everything}, dir, save, []mutation{
		{"whole", nil, ""},
		{"a bit flipped", []op{flip}, problem.HashMismatch},
		{"a file missing", []op{megatronIntegrityOp(dir, func(f map[string]string) { f["gone"] = f[".metadata"] })},
			problem.MissingShard},
		{"another directory", []op{megatronIntegrityOp(dir, func(f map[string]string) { f["../x"] = "" })}, problem.BadJSON},
		{"torn", []op{truncated(dir+"/integrity.json", -9)}, problem.BadJSON},
		{"another algorithm", []op{changed(dir+"/integrity.json", func([]byte) []byte {
			return []byte(`{"algorithm": "md5", "files": {}}`)
		})}, problem.UnknownFormat},
		{"of an earlier save", []op{touched(dir + "/.metadata"), touched(dir + "/metadata.json")},
			problem.OverwriteInProgress},
	})
	mutate(t, Options{}, dir, save, []mutation{
		{"a bit flipped, and not all bytes read", []op{flip}, ""},
		{"a file missing", []op{megatronIntegrityOp(dir, func(f map[string]string) { f["gone"] = "" })},
			problem.MissingShard},
	})
	d := newDisk(t)
	d.play(save...)
	read := make(chan int, 100)
	see(t, d.fs(), Options{Level: Everything, Read: func(n int) { read <- n }})
	if len(read) == 0 {
		t.Error("no progress")
	}
}

// megatronBridgeSave is the order in which Megatron-Bridge saves.
func megatronBridgeSave(dir string) []op {
	state := filetest.Torch([]byte("step"))
	ops := megatronDistSave(dir, "torch_dist")
	return append(ops[:len(ops)-1:len(ops)-1], write(dir+"/train_state.pt", state), write("latest_train_state.pt", state),
		megatronTrack("100"), writeText(dir+"/run_config.yaml", "model: {}\n"))
}

func TestMegatronBridge(t *testing.T) {
	const dir = "iter_0000100"
	ops := megatronBridgeSave(dir)
	// The very first save is like one of Megatron-LM until the first file of its own.
	playPrefixes(t, Options{}, dir, ops, len(ops)-4)
	before := append(megatronBridgeSave("iter_0000050"), megatronTrack("50"))
	t.Run("second save", func(t *testing.T) {
		for n := range ops {
			d := newDisk(t)
			d.play(append(before[:len(before):len(before)], ops[:n]...)...)
			for _, c := range see(t, d.fs(), Options{Level: Manifests}) {
				if c.Complete != (c.Path == "iter_0000050") {
					t.Errorf("after %d operations: %s", n, list([]*Checkpoint{c}))
				}
			}
		}
	})
	mutate(t, Options{}, dir, ops, []mutation{
		{"whole", nil, ""},
		{"config empty", []op{truncated(dir+"/run_config.yaml", 0)}, problem.EmptyFile},
		{"config missing", []op{remove(dir + "/run_config.yaml")}, problem.NoMarker},
		{"state missing", []op{remove(dir + "/train_state.pt")}, problem.NoMarker},
		{"state truncated", []op{truncated(dir+"/train_state.pt", -1)}, problem.Truncated},
	})
}
