package format

import (
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// accelerateSave is the order in which two processes write with automatic names. The second is early: when it is late,
// nothing tells that it is missing.
func accelerateSave(dir string) []op {
	return []op{
		mkdir(dir),
		write(dir+"/random_states_1.pkl", anyTorch()),
		write(dir+"/model.safetensors", anySafetensors()),
		write(dir+"/optimizer.bin", anyTorch()),
		write(dir+"/scheduler.bin", anyTorch()),
		write(dir+"/random_states_0.pkl", anyTorch()),
		write(dir+"/custom_checkpoint_0.pkl", anyTorch()),
	}
}

func TestAcceleratePrefixes(t *testing.T) {
	// Of the very first save it cannot be told that a registered object is missing: 6.
	playPrefixes(t, Options{}, "checkpoint_0", accelerateSave("checkpoint_0"), 6)
	// Of the next one it can.
	for n := range 8 {
		save := accelerateSave("checkpoint_1")
		d := newDisk(t)
		d.play(accelerateSave("checkpoint_0")...)
		d.play(save[:n]...)
		complete := false
		for _, c := range see(t, d.fs(), Options{Level: Ends}) {
			complete = complete || c.Path == "checkpoint_1" && c.Complete
		}
		if complete != (n == len(save)) {
			t.Errorf("after %d operations: complete=%v", n, complete)
		}
		if n == len(save) {
			break
		}
	}
}

func TestAccelerateMutations(t *testing.T) {
	const dir = "checkpoint_0/"
	rest := []op{touched(dir + "random_states_0.pkl"), touched(dir + "custom_checkpoint_0.pkl")} // of what follows a file
	mutate(t, Options{}, "checkpoint_0", accelerateSave("checkpoint_0"), []mutation{
		{"whole", nil, ""},
		{"a rank is missing", []op{remove(dir + "random_states_0.pkl")}, problem.MissingRankState},
		{"all ranks are missing", []op{remove(dir + "random_states_0.pkl"), remove(dir + "random_states_1.pkl")},
			problem.MissingRankState},
		{"a rank is cut", []op{truncated(dir+"random_states_1.pkl", -1)}, problem.Truncated},
		{"weights are gone", []op{remove(dir + "model.safetensors")}, problem.MissingShard},
		{"weights are cut", []op{truncated(dir+"model.safetensors", -1)}, problem.Truncated},
		{"second model", slices.Concat([]op{write(dir+"model_1.safetensors", anySafetensors())}, rest), ""},
		{"second model is cut", []op{write(dir+"model_1.safetensors", anySafetensors()[:50])}, problem.Truncated},
		{"models in directories", []op{rename(dir+"model.safetensors", dir+"unet/diffusion_pytorch_model.safetensors"),
			write(dir+"unet_ema/diffusion_pytorch_model.safetensors", anySafetensors())}, ""},
		{"one of them is cut", []op{rename(dir+"model.safetensors", dir+"unet/diffusion_pytorch_model.safetensors"),
			write(dir+"unet_ema/diffusion_pytorch_model.safetensors", anySafetensors()[:50])}, problem.Truncated},
		{"an adapter of diffusers", []op{rename(dir+"model.safetensors", dir+"pytorch_lora_weights.safetensors")}, ""},
		{"pickled weights", []op{remove(dir + "model.safetensors"), write(dir+"pytorch_model.bin", anyTorch()), rest[0], rest[1]}, ""},
		{"optimizer is gone", []op{remove(dir + "optimizer.bin")}, problem.WeightsOnly},
		{"optimizer is empty", []op{truncated(dir+"optimizer.bin", 0)}, problem.EmptyFile},
		{"second optimizer was interrupted", []op{write(dir+"optimizer_1.bin", torchInterrupted())},
			problem.ZipMissingRecords},
		{"saved over: the weights", []op{touched(dir + "model.safetensors")}, problem.OverwriteInProgress},
		{"saved over: the optimizer", []op{touched(dir + "model.safetensors"), touched(dir + "optimizer.bin")},
			problem.OverwriteInProgress},
		{"saved over: all but the objects", []op{touched(dir + "random_states_0.pkl")}, problem.OverwriteInProgress},
		{"a rank is late", []op{touched(dir + "random_states_1.pkl")}, ""},
		{"a script's own file is late", []op{write(dir+"pytorch_lora_weights.safetensors", anySafetensors())}, ""},
		{"no scheduler", []op{remove(dir + "scheduler.bin")}, ""},
		{"an object is missing", []op{write(dir+"custom_checkpoint_2.pkl", anyTorch())}, problem.MissingShard},
		{"DeepSpeed", []op{remove(dir + "model.safetensors"), remove(dir + "optimizer.bin"),
			write(dir+"pytorch_model/mp_rank_00_model_states.pt", torchSaved(pickled("optimizer", 1), 0))}, ""},
		{"DeepSpeed's file is cut", []op{remove(dir + "model.safetensors"), remove(dir + "optimizer.bin"),
			write(dir+"pytorch_model/mp_rank_00_model_states.pt", anyTorch()[:100])}, problem.Truncated},
		{"FSDP without metadata", []op{write(dir+"pytorch_model_fsdp_0/__0_0.distcp", make([]byte, 10))}, problem.NoMarker},
	})
	fsdp := slices.Concat(distributedSave(t, dir+"pytorch_model_fsdp_0", "model"),
		distributedSave(t, dir+"optimizer_0", "full"),
		[]op{write(dir+"random_states_0.pkl", anyTorch())})
	playPrefixes(t, Options{}, "checkpoint_0", fsdp)
	mutate(t, Options{}, "checkpoint_0", fsdp, []mutation{
		{"saved over: FSDP's model", distributedSave(t, dir+"pytorch_model_fsdp_0", "model"), problem.OverwriteInProgress},
	})
}

// TestAccelerateScheduler knows that a scheduler is missing by the checkpoint before, and doubts it by the optimizer. None
// was asked of Accelerate where neither has one.
func TestAccelerateScheduler(t *testing.T) {
	had := torchSaved(filetest.NewPickle(2).Op("}(").Text("initial_lr").Op("K\x01u").Stop(), 0)
	without := func(dir string, ops ...op) []op {
		return slices.Concat(accelerateSave(dir), []op{remove(dir + "/scheduler.bin"), remove(dir + "/custom_checkpoint_0.pkl")}, ops)
	}
	for _, tt := range []struct {
		name  string
		ops   []op
		want  problem.Reason
		doubt bool
	}{
		{"the one before has it", slices.Concat(accelerateSave("checkpoint_0"), accelerateSave("checkpoint_1"),
			[]op{remove("checkpoint_1/scheduler.bin")}), problem.MissingShard, false},
		{"and an optimizer", slices.Concat(accelerateSave("checkpoint_0"), accelerateSave("checkpoint_1"),
			[]op{remove("checkpoint_1/optimizer.bin")}), problem.MissingShard, false},
		{"and a sampler", slices.Concat(accelerateSave("checkpoint_0"), []op{write("checkpoint_0/sampler.bin", anyTorch())},
			accelerateSave("checkpoint_1")), problem.MissingShard, false},
		{"and a model of a hook's", slices.Concat(accelerateSave("checkpoint_0"), []op{write("checkpoint_0/unet/model.safetensors", filetest.Safetensors(8))},
			accelerateSave("checkpoint_1")), problem.MissingShard, false},
		{"neither has", slices.Concat(without("checkpoint_0"), without("checkpoint_1")), "", false},
		{"the optimizer has had one", without("checkpoint_1", write("checkpoint_1/optimizer.bin", had),
			touched("checkpoint_1/random_states_0.pkl")), "", true},
		{"and a script keeps it by itself", slices.Concat(without("checkpoint_1", write("checkpoint_1/optimizer.bin", had)),
			[]op{write("checkpoint_1/custom_checkpoint_0.pkl", anyTorch()), touched("checkpoint_1/random_states_0.pkl"),
				touched("checkpoint_1/custom_checkpoint_0.pkl")}), "", false},
	} {
		d := newDisk(t)
		d.play(tt.ops...)
		c := one(t, see(t, d.fs(), Options{Level: Manifests}), "checkpoint_1")
		if c.Reason != tt.want || (c.Doubt != "") != tt.doubt || tt.doubt && !strings.Contains(c.Doubt, "scheduler.bin is missing") {
			t.Errorf("%s: %q (%s), doubt %q", tt.name, c.Reason, c.Detail, c.Doubt)
		}
	}
}

func TestAccelerateFind(t *testing.T) {
	t.Run("names of Accelerate", func(t *testing.T) {
		d := newDisk(t)
		for _, dir := range []string{"checkpoint_9", "checkpoint_10"} {
			d.play(accelerateSave(dir)...)
		}
		d.play(mkdir("checkpoint_11"), mkdir("checkpoint_x"))
		cs := see(t, d.fs(), Options{Level: Manifests})
		if len(cs) != 3 || cs[0].Path != "checkpoint_11" || cs[1].Path != "checkpoint_10" || !cs[1].Complete {
			t.Fatalf("%s", list(cs))
		}
		if c := cs[1]; c.Format != "accelerate" || c.WorldSize != 2 || !c.Elastic || c.Step != 10 || c.Basis != BasisGrid ||
			c.ModifiedFrom != ModifiedShard {
			t.Errorf("%+v", c)
		}
	})
	t.Run("names of the Trainer", func(t *testing.T) {
		d := newDisk(t)
		d.play(accelerateSave("checkpoint-500")...)
		d.play(write("checkpoint-1000/unet/diffusion_pytorch_model.safetensors", anySafetensors())) // has just begun
		cs := see(t, d.fs(), Options{Level: Manifests})
		if c := one(t, cs, "checkpoint-500"); c.Format != "accelerate" || !c.Complete || c.Step != 500 {
			t.Errorf("%+v", c)
		}
		if c := one(t, cs, "checkpoint-1000"); c.Reason != problem.MissingRankState {
			t.Errorf("%+v", c)
		}
	})
	t.Run("neither", func(t *testing.T) {
		d := newDisk(t)
		d.play(writeText("checkpoint_1/data", "x"), mkdir("checkpoint_2"), mkdir("step_3"))
		if cs := see(t, d.fs(), Options{}); len(cs) != 0 {
			t.Errorf("%s", list(cs))
		}
	})
}

func TestAccelerateUnreadable(t *testing.T) {
	save := slices.Concat(accelerateSave("checkpoint_0"), accelerateSave("checkpoint_1"))
	unknownWhenUnreadable(t, save, "accelerate", "checkpoint_1", "checkpoint_1", "checkpoint_0",
		"checkpoint_1/model.safetensors", "checkpoint_1/random_states_0.pkl", "checkpoint_1/custom_checkpoint_0.pkl")
}

// TestAccelerateNames: what Accelerate has written is known under names of a script's own, and what has its names and is a
// script's own is not Accelerate's.
func TestAccelerateNames(t *testing.T) {
	for _, dir := range []string{"000300", "lora-000300-state", "last"} {
		mutate(t, Options{}, dir, slices.Concat(accelerateSave(dir)), []mutation{
			{"whole", nil, ""},
			{"a rank is missing", []op{remove(dir + "/random_states_0.pkl")}, problem.MissingRankState},
		})
	}
	mutate(t, Options{}, "000300", slices.Concat(accelerateSave("000200"), accelerateSave("000300")), []mutation{
		{"all ranks are missing", []op{remove("000300/random_states_0.pkl"), remove("000300/random_states_1.pkl")}, problem.MissingRankState},
	})
	d := newDisk(t)
	d.play(slices.Concat(accelerateSave("step_200"), accelerateSave("last"))...)
	if c := one(t, see(t, d.fs(), Options{Level: Manifests}), "last"); c.Format != "accelerate" || !c.Complete {
		t.Errorf("beside a numbered one, with objects that the plain reader takes for saves: %+v", c)
	}
	d.play(remove("last/custom_checkpoint_0.pkl"))
	if c := one(t, see(t, d.fs(), Options{Level: Manifests}), "last"); c.Format != "plain" || !c.Complete {
		t.Errorf("beside a numbered one: %+v", c)
	}
	own := func(dir string) []op {
		return []op{write(dir+"/model.safetensors", anySafetensors()), write(dir+"/optimizer.bin", anyState(1))}
	}
	mutate(t, Options{}, "step_200", slices.Concat(own("step_100"), own("step_200")), []mutation{
		{"whole", nil, ""},
		{"the optimizer is missing", []op{remove("step_200/optimizer.bin")}, problem.MissingShard},
	})
}
