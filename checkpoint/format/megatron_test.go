package format

import (
	"context"
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
