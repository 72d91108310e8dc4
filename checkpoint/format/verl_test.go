package format

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// verlRoleSave is what the ranks of one role write, each its three files.
func verlRoleSave(dir string, world int) (ops []op) {
	ops = append(ops, mkdir(dir))
	for rank := range world {
		for _, family := range []string{"model", "optim", "extra_state"} {
			ops = append(ops, write(fmt.Sprintf("%s/%s_world_size_%d_rank_%d.pt", dir, family, world, rank),
				filetest.Torch([]byte(family))))
		}
	}
	return append(ops, writeText(dir+"/fsdp_config.json", fmt.Sprintf(`{"FSDP_version": 1, "world_size": %d}`, world)))
}

// verlSave is one save of a trainer: the actor's, the critic's, the data loader's, and then the tracker.
func verlSave(step, world int) []op {
	dir := fmt.Sprintf("global_step_%d", step)
	ops := append(verlRoleSave(dir+"/actor", world), verlRoleSave(dir+"/critic", world)...)
	return append(ops, write(dir+"/data.pt", filetest.Torch()), megatronTrack(fmt.Sprint(step)))
}

func TestVerlPrefixes(t *testing.T) {
	ops := verlSave(100, 2)
	playPrefixes(t, Options{}, "global_step_100", ops, len(ops)-1) // the tracker is a hint
	t.Run("second save", func(t *testing.T) {
		playPrefixes(t, Options{}, "global_step_200", append(verlSave(100, 2), verlSave(200, 2)...), 2*len(ops)-1)
	})
	t.Run("EasyR1", func(t *testing.T) {
		ops := append(verlRoleSave("global_step_100/actor", 2), write("global_step_100/dataloader.pt", filetest.Torch()))
		playPrefixes(t, Options{}, "global_step_100", ops, len(ops))
	})
	t.Run("fine-tuning", func(t *testing.T) {
		ops := append(verlRoleSave("global_step_100", 2), write("global_step_100/data_0.pt", filetest.Torch()),
			writeText("latest_checkpointed_iteration.txt.tmp", "100"),
			rename("latest_checkpointed_iteration.txt.tmp", "latest_checkpointed_iteration.txt"))
		playPrefixes(t, Options{}, "global_step_100", ops, len(ops)-1, len(ops)-2)
	})
}

func TestVerlFields(t *testing.T) {
	d := newDisk(t)
	d.play(verlSave(100, 4)...)
	c := one(t, see(t, d.fs(), Options{Level: Manifests}), "global_step_100")
	if c.Format != "verl" || c.Step != 100 || c.WorldSize != 4 || c.Elastic || c.ShardsExpected != 24 ||
		c.ShardsFound != 24 || c.Basis != BasisMarker || !c.Resumable {
		t.Errorf("%+v", c)
	}
}

func TestVerlMutations(t *testing.T) {
	const dir = "global_step_200"
	save := append(verlSave(100, 2), verlSave(200, 2)...)
	file := func(name string) string { return dir + "/" + name }
	mutate(t, Options{}, dir, save, []mutation{
		{"whole", nil, ""},
		{"rank missing", []op{remove(file("actor/optim_world_size_2_rank_1.pt"))}, problem.MissingShard},
		{"role missing", []op{remove(file("critic"))}, problem.MissingShard},
		{"role emptied by pruning", []op{remove(file("actor")), mkdir(file("actor"))}, problem.MissingShard},
		{"empty", []op{truncated(file("critic/model_world_size_2_rank_0.pt"), 0)}, problem.EmptyFile},
		{"truncated", []op{truncated(file("critic/model_world_size_2_rank_0.pt"), -1)}, problem.Truncated},
		{"data loader truncated", []op{truncated(file("data.pt"), -1)}, problem.Truncated},
		{"data loader missing", []op{remove(file("data.pt"))}, problem.NoMarker},
		{"data loader of no step", []op{remove(file("data.pt")), remove("global_step_100/data.pt")}, ""},
		{"data loader of no step, and the tracker behind", []op{
			remove(file("data.pt")), remove("global_step_100/data.pt"), megatronTrack("100"),
		}, problem.NoMarker},
		{"without extra state", []op{
			remove(file("actor/extra_state_world_size_2_rank_0.pt")), remove(file("actor/extra_state_world_size_2_rank_1.pt")),
		}, ""},
		{"without an optimizer", []op{
			remove(file("actor/optim_world_size_2_rank_0.pt")), remove(file("actor/optim_world_size_2_rank_1.pt")),
		}, problem.WeightsOnly},
		{"left over from more ranks", []op{writeText(file("actor/model_world_size_4_rank_3.pt"), "torn")}, ""},
		{"the config does not say", []op{
			writeText(file("actor/model_world_size_4_rank_3.pt"), "torn"), remove(file("actor/fsdp_config.json")),
		}, ""},
		{"weights for Hugging Face", []op{writeText(file("actor/huggingface/config.json"), "{}")}, ""},
		{"no tracker", []op{remove("latest_checkpointed_iteration.txt")}, ""},
	})
}

func TestVerlMegatron(t *testing.T) {
	save := megatronDistSave("global_step_100/actor/dist_ckpt", "torch_dist")
	save = append(save, write("global_step_100/data.pt", filetest.Torch()))
	mutate(t, Options{}, "global_step_100", save, []mutation{
		{"whole", nil, ""},
		{"shard missing", []op{remove("global_step_100/actor/dist_ckpt/__1_0.distcp")}, problem.MissingShard},
		{"config missing", []op{remove("global_step_100/actor/dist_ckpt/metadata.json")}, problem.NoMarker},
	})
	d := newDisk(t)
	d.play(save...)
	if c := one(t, see(t, d.fs(), Options{Level: Manifests}), "global_step_100"); c.Format != "verl+torch_dist" {
		t.Errorf("%+v", c)
	}
}

func TestVerlTracker(t *testing.T) {
	for text, want := range map[string]problem.Reason{"300": problem.PointerDangling, "": problem.PointerMalformed} {
		d := newDisk(t)
		d.play(append(verlSave(200, 1), megatronTrack(text))...)
		path := "global_step_300"
		if want == problem.PointerMalformed {
			path = "latest_checkpointed_iteration.txt"
		}
		cs := see(t, d.fs(), Options{Level: Manifests})
		if c := one(t, cs, path); c.Complete || c.Reason != want || !one(t, cs, "global_step_200").Complete {
			t.Error(list(cs))
		}
	}
}

func TestVerlUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(verlSave(100, 1)...)
	for _, path := range []string{
		"global_step_100", "global_step_100/critic", "global_step_100/data.pt",
		"global_step_100/actor/optim_world_size_1_rank_0.pt",
	} {
		c := one(t, see(t, failing{d.fs(), path, errors.New("i/o error")}, Options{Level: Manifests}), "global_step_100")
		if c.Complete || !c.Reason.Unknown() {
			t.Errorf("%s: %+v", path, c)
		}
	}
}
