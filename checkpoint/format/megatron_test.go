package format

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// megatronLegacySave is the order in which Megatron-LM saves in the format "torch", with these sizes of the axes in the
// names, and the same in the arguments unless silent.
func megatronLegacySave(dir string, distributed, silent bool, tensor, pipeline, expert int, more ...string) (ops []op) {
	state := savedFile()
	if !silent {
		keys := []string{"tensor_model_parallel_size", savedInt(tensor), "pipeline_model_parallel_size", savedInt(pipeline),
			"expert_model_parallel_size", savedInt(expert), "world_size", savedInt(16)}
		if distributed {
			keys = append(keys, "use_distributed_optimizer", savedTrue, "no_save_optim", savedNone)
		}
		state = savedFile(append(keys, more...)...)
	}
	for t := range tensor {
		for p := range pipeline {
			for e := range expert {
				rank := fmt.Sprintf("%s/mp_rank_%02d", dir, t)
				if pipeline > 1 {
					rank += fmt.Sprintf("_%03d", p)
				}
				if expert > 1 {
					rank += fmt.Sprintf("_%03d", e)
				}
				if distributed {
					ops = append(ops, write(rank+"/distrib_optim.pt", filetest.Torch([]byte("moments"))))
				}
				ops = append(ops, write(rank+"/model_optim_rng.pt", state))
			}
		}
	}
	return append(ops, megatronTrack("100"))
}

func megatronTrack(text string) op { return writeText("latest_checkpointed_iteration.txt", text) }

func TestMegatronLegacyPrefixes(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 2}, {1, 1, 2}} {
		for _, distributed := range []bool{false, true} {
			t.Run(fmt.Sprint(size, distributed), func(t *testing.T) {
				ops := megatronLegacySave("iter_0000100", distributed, false, size[0], size[1], size[2])
				playPrefixes(t, Options{}, "iter_0000100", ops, len(ops)-1) // the tracker is a hint
			})
		}
	}
}

func TestMegatronLegacyFields(t *testing.T) {
	d := newDisk(t)
	d.play(megatronLegacySave("iter_0000100", true, false, 2, 2, 1)...)
	c := one(t, see(t, d.fs(), Options{Level: Manifests}), "iter_0000100")
	if c.Format != "megatron+torch" || c.Step != 100 || c.Basis != BasisManifest || c.WorldSize != 16 || !c.Elastic ||
		c.ShardsExpected != 4 || c.ShardsFound != 4 || c.Tag != "iter_0000100" {
		t.Errorf("%+v", c)
	}
}

func TestMegatronLegacyMutations(t *testing.T) {
	const dir = "iter_0000100"
	for _, silent := range []bool{false, true} {
		mutate(t, Options{}, dir, megatronLegacySave(dir, true, silent, 2, 2, 2), []mutation{
			{"whole", nil, ""},
			{"rank missing", []op{remove(dir + "/mp_rank_01_000_001")}, problem.MissingShard},
			{"state missing", []op{remove(dir + "/mp_rank_01_000_001/model_optim_rng.pt")}, problem.MissingShard},
			{"optimizer missing", []op{remove(dir + "/mp_rank_01_000_001/distrib_optim.pt")}, problem.MissingShard},
			{"empty", []op{truncated(dir+"/mp_rank_00_001_001/model_optim_rng.pt", 0)}, problem.EmptyFile},
			{"truncated", []op{truncated(dir+"/mp_rank_00_001_001/distrib_optim.pt", -3)}, problem.Truncated},
			{"other parallelism", []op{mkdir(dir + "/mp_rank_02")}, problem.MissingShard},
			{"layer-wise optimizer", []op{
				write(dir+"/mp_rank_00_001_001/layer_wise_optimizer_0.pt", filetest.Torch()),
				write(dir+"/mp_rank_00_001_001/layer_wise_optimizer_1.pt", filetest.Torch()),
			}, ""},
			{"layer-wise optimizer of a rank missing", []op{
				write(dir+"/mp_rank_00_001_001/layer_wise_optimizer_1.pt", filetest.Torch()),
			}, problem.MissingRankState},
			{"other files", []op{writeText(dir+"/notes", ""), writeText("progress.txt", ""), mkdir("non_persistent")}, ""},
			{"no tracker", []op{remove("latest_checkpointed_iteration.txt")}, ""},
			{"malformed tracker", []op{megatronTrack("abc")}, ""},
		})
	}
	mutate(t, Options{}, dir, megatronLegacySave(dir, false, false, 1, 1, 1, "no_save_optim", savedTrue), []mutation{
		{"without the optimizer", nil, problem.WeightsOnly},
	})
	// With expert tensor parallelism of its own, a rank has one place on both axes.
	mutate(t, Options{}, dir, megatronLegacySave(dir, false, false, 2, 1, 2, "expert_tensor_parallel_size", savedInt(1)),
		[]mutation{
			{"on the diagonal", []op{remove(dir + "/mp_rank_00_001"), remove(dir + "/mp_rank_01_000")}, ""},
			{"one of the diagonal", []op{
				remove(dir + "/mp_rank_00_001"), remove(dir + "/mp_rank_01_000"), remove(dir + "/mp_rank_01_001"),
			}, problem.MissingShard},
		})
}

func TestMegatronRelease(t *testing.T) {
	for _, ops := range [][]op{
		append(megatronLegacySave("release", false, false, 1, 1, 1), megatronTrack("release")),
		append(megatronDistSave("release", "torch_dist"), megatronTrack("release\n")),
	} {
		d := newDisk(t)
		d.play(ops...)
		cs := see(t, d.fs(), Options{Level: Manifests})
		if c := one(t, cs, "release"); !c.Complete || c.Resumable || c.Reason != problem.WeightsOnly || c.Step != -1 ||
			len(cs) != 1 {
			t.Errorf("%s", list(cs))
		}
	}
}

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

func TestMegatronTracker(t *testing.T) {
	old := megatronDistSave("iter_0000100", "torch_dist")
	for _, test := range []struct {
		name, text, path string
		want             problem.Reason
	}{
		{"moved on without weights", "200", "iter_0000200", problem.PointerDangling},
		{"empty", "", "latest_checkpointed_iteration.txt", problem.PointerMalformed},
		{"garbled", "abc", "latest_checkpointed_iteration.txt", problem.PointerMalformed},
		{"negative", "-1", "latest_checkpointed_iteration.txt", problem.PointerMalformed},
		{"huge", strings.Repeat("9", 5000), "latest_checkpointed_iteration.txt", problem.PointerMalformed},
		{"release", "release", "release", problem.PointerDangling},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDisk(t)
			d.play(append(old, megatronTrack(test.text))...)
			cs := see(t, d.fs(), Options{Level: Manifests})
			if c := one(t, cs, test.path); c.Complete || c.Reason != test.want {
				t.Errorf("%+v", c)
			}
			if c := one(t, cs, "iter_0000100"); !c.Complete || len(cs) != 2 {
				t.Error(list(cs))
			}
			// And where nothing else is.
			d = newDisk(t)
			d.play(megatronTrack(test.text))
			cs = see(t, d.fs(), Options{Level: Manifests})
			if c := one(t, cs, test.path); c.Complete || c.Reason != test.want || len(cs) != 1 {
				t.Error(list(cs))
			}
		})
	}
}

// TestMegatronDeepSpeed is a tree with both pointers: the files decide whose it is.
func TestMegatronDeepSpeed(t *testing.T) {
	d := newDisk(t)
	d.play(append(deepSpeedSave{tag: "global_step300", dp: 2, mp: 1, stage: 1}.ops(), megatronTrack("300"))...)
	cs := see(t, d.fs(), Options{Level: Manifests})
	if c := one(t, cs, "global_step300"); c.Format != "deepspeed" || !c.Complete || len(cs) != 1 {
		t.Error(list(cs))
	}
}

func TestMegatronUnreadable(t *testing.T) {
	stale := errors.New("stale file handle")
	for _, save := range [][]op{
		megatronDistSave("iter_0000100", "torch_dist"), megatronLegacySave("iter_0000100", true, false, 2, 1, 1),
	} {
		d := newDisk(t)
		d.play(save...)
		for _, path := range []string{
			"iter_0000100", "iter_0000100/.metadata", "iter_0000100/metadata.json", "iter_0000100/mp_rank_00",
			"iter_0000100/mp_rank_01/distrib_optim.pt", "iter_0000100/mp_rank_00/model_optim_rng.pt", "latest_train_state.pt",
		} {
			if _, err := os.Stat(d.path(path)); err != nil && path != "latest_train_state.pt" {
				continue
			}
			c := one(t, see(t, failing{d.fs(), path, stale}, Options{Level: Manifests}), "iter_0000100")
			if c.Complete || !c.Reason.Unknown() {
				t.Errorf("%s: %+v", path, c)
			}
		}
	}
	d := newDisk(t)
	d.play(megatronTrack("100"))
	_, err := Find(context.Background(), failing{d.fs(), "latest_checkpointed_iteration.txt", stale}, Options{})
	if wrong, ok := errors.AsType[*problem.Error](err); !ok || !wrong.Reason.Unknown() {
		t.Error(err)
	}
}

func TestMegatronHostile(t *testing.T) {
	d := newDisk(t)
	d.play(write("iter_0000100/mp_rank_00_000_000/model_optim_rng.pt", savedFile(
		"tensor_model_parallel_size", "J\x00\x00\x10\x00", "pipeline_model_parallel_size", "J\x00\x00\x10\x00",
		"expert_model_parallel_size", "J\x00\x00\x10\x00")),
		mkdir("iter_0000200/mp_rank_1048575_1048575_1048575"), mkdir("iter_0000300/mp_rank_"),
		mkdir("iter_0000400/mp_rank_0_0_0_0"), mkdir("iter_0000500/mp_rank_99999999999999999999"))
	start := time.Now()
	for _, c := range see(t, d.fs(), Options{Level: Manifests}) {
		if c.Complete {
			t.Errorf("%+v", c)
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Error(took)
	}
}
