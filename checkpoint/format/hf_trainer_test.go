package format

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

func hfStateJSON(step int) string {
	return fmt.Sprintf(`{
  "best_metric": -Infinity,
  "epoch": 0.25,
  "global_step": %d,
  "log_history": [{"grad_norm": NaN, "loss": Infinity, "name": "not a NaN \"Infinity\"", "step": 1}],
  "max_steps": 4
}
`, step)
}

func hfArgsOf(world int) []byte {
	return torchSaved(pickled("local_rank", -1, "save_on_each_node", false, "num_processes", world), 0)
}

// hfSave is the order in which the Trainer of one process writes.
func hfSave(dir string, step int) []op {
	return []op{
		writeText(dir+"/config.json", "{}"),
		write(dir+"/model.safetensors", anySafetensors()),
		write(dir+"/training_args.bin", hfArgsOf(1)),
		write(dir+"/optimizer.pt", anyTorch()),
		write(dir+"/scheduler.pt", anyTorch()),
		write(dir+"/rng_state.pth", anyTorch()),
		writeText(dir+"/trainer_state.json", hfStateJSON(step)),
	}
}

// hfSaveTwo is the order of two processes, of which the second is late.
func hfSaveTwo(dir string, args []byte) []op {
	return []op{
		write(dir+"/model-00001-of-00002.safetensors", anySafetensors()),
		write(dir+"/model-00002-of-00002.safetensors", anySafetensors()),
		writeText(dir+"/model.safetensors.index.json", weightsIndex(2)),
		write(dir+"/training_args.bin", args),
		write(dir+"/optimizer.pt", anyTorch()),
		write(dir+"/scheduler.pt", anyTorch()),
		write(dir+"/rng_state_0.pth", anyTorch()),
		writeText(dir+"/trainer_state.json", hfStateJSON(4)),
		write(dir+"/rng_state_1.pth", anyTorch()),
	}
}

// hfSaveFSDP is the order with FSDP and its sharded states.
func hfSaveFSDP(t *testing.T, dir string) []op {
	var ops []op
	ops = append(ops, write(dir+"/training_args.bin", hfArgsOf(1)))
	ops = append(ops, distributedSave(t, dir+"/pytorch_model_fsdp_0", "model")...)
	ops = append(ops, distributedSave(t, dir+"/optimizer_0", "full")...)
	return append(ops,
		write(dir+"/scheduler.pt", anyTorch()),
		write(dir+"/rng_state.pth", anyTorch()),
		writeText(dir+"/trainer_state.json", hfStateJSON(4)))
}

func TestHFTrainerPrefixes(t *testing.T) {
	playPrefixes(t, Options{}, "checkpoint-4", hfSave("checkpoint-4", 4))
	// The pickled arguments tell that the second process has not written yet.
	playPrefixes(t, Options{}, "checkpoint-4", hfSaveTwo("checkpoint-4", testFile(t, "hf_trainer/training_args.bin")))
	// Those of an old release do not, and then it is not seen that the last rank is missing.
	playPrefixes(t, Options{}, "checkpoint-4", hfSaveTwo("checkpoint-4", anyTorch()), 8)
	playPrefixes(t, Options{}, "checkpoint-4", hfSaveFSDP(t, "checkpoint-4"))
	playPrefixes(t, Options{}, "checkpoint-4", append(append(
		[]op{writeText("checkpoint-4/checkpoint-is-incomplete.txt", "Checkpoint started")},
		hfSave("checkpoint-4", 4)...), remove("checkpoint-4/checkpoint-is-incomplete.txt")))
	playPrefixes(t, Options{}, "checkpoint-4", append(hfSave("tmp-checkpoint-4", 4),
		rename("tmp-checkpoint-4", "checkpoint-4")))
}

func TestHFTrainerMutations(t *testing.T) {
	const dir = "checkpoint-4/"
	mutate(t, Options{}, "checkpoint-4", hfSave("checkpoint-4", 4), []mutation{
		{"whole", nil, ""},
		{"state is gone", []op{remove(dir + "trainer_state.json")}, problem.NoMarker},
		{"state is empty", []op{writeText(dir+"trainer_state.json", "")}, problem.EmptyFile},
		{"state is cut", []op{truncated(dir+"trainer_state.json", -5)}, problem.BadJSON},
		{"state has zeros", []op{zeroed(dir+"trainer_state.json", 10, 20)}, problem.BadJSON},
		{"state without a step", []op{writeText(dir+"trainer_state.json", "{}")}, problem.BadJSON},
		{"state of another step", []op{writeText(dir+"trainer_state.json", hfStateJSON(5))}, problem.StepMismatch},
		{"weights are gone", []op{remove(dir + "model.safetensors")}, problem.MissingShard},
		{"weights are cut", []op{truncated(dir+"model.safetensors", -1)}, problem.Truncated},
		{"optimizer is cut", []op{truncated(dir+"optimizer.pt", -1)}, problem.Truncated},
		{"optimizer is empty", []op{truncated(dir+"optimizer.pt", 0)}, problem.EmptyFile},
		{"optimizer's save was interrupted",
			[]op{changed(dir+"optimizer.pt", func([]byte) []byte { return torchInterrupted() })}, problem.ZipMissingRecords},
		{"optimizer is gone", []op{remove(dir + "optimizer.pt")}, problem.WeightsOnly},
		{"scheduler is gone", []op{remove(dir + "scheduler.pt")}, problem.WeightsOnly},
		{"weights alone", []op{remove(dir + "optimizer.pt"), remove(dir + "scheduler.pt"), remove(dir + "rng_state.pth")},
			problem.WeightsOnly},
		{"generators are gone", []op{remove(dir + "rng_state.pth")}, problem.MissingRankState},
		{"configuration is empty", []op{write(dir+"config.json", nil)}, problem.EmptyFile},
		{"configuration was edited", []op{writeText(dir+"config.json", "{}")}, ""},
		{"saved over", []op{touched(dir + "model.safetensors")}, problem.OverwriteInProgress},
		{"optimizer saved over", []op{touched(dir + "optimizer.pt")}, problem.OverwriteInProgress},
		{"being saved", []op{writeText(dir+"checkpoint-is-incomplete.txt", "x")}, problem.UnfinishedMarker},
		{"an adapter instead", []op{rename(dir+"model.safetensors", dir+"adapter_model.safetensors")}, ""},
		{"several adapters", []op{rename(dir+"model.safetensors", dir+"first/adapter_model.safetensors"),
			touched(dir + "trainer_state.json")}, ""},
		{"one of them cut", []op{rename(dir+"model.safetensors", dir+"first/adapter_model.safetensors"),
			truncated(dir+"first/adapter_model.safetensors", -1)}, problem.Truncated},
		{"fewer processes than before", []op{write(dir+"rng_state_0.pth", anyTorch()),
			write(dir+"rng_state_1.pth", anyTorch())}, ""},
	})
	// The arguments are those of one process, and two have written.
	mutate(t, Options{}, "checkpoint-4", hfSaveTwo("checkpoint-4", hfArgsOf(1)), []mutation{
		{"two, by their files", nil, ""},
		{"the first is gone", []op{remove(dir + "rng_state_0.pth")}, problem.MissingRankState},
		{"the second is gone", []op{remove(dir + "rng_state_1.pth")}, problem.MissingRankState},
		{"both are gone", []op{remove(dir + "rng_state_0.pth"), remove(dir + "rng_state_1.pth")}, problem.MissingRankState},
	})
	two := hfSaveTwo("checkpoint-4", testFile(t, "hf_trainer/training_args.bin"))
	mutate(t, Options{}, "checkpoint-4", two, []mutation{
		{"two", nil, ""},
		{"first rank is gone", []op{remove(dir + "rng_state_0.pth")}, problem.MissingRankState},
		{"last rank is gone", []op{remove(dir + "rng_state_1.pth")}, problem.MissingRankState},
		{"last rank is cut", []op{truncated(dir+"rng_state_1.pth", 40)}, problem.Truncated},
		{"a shard is gone", []op{remove(dir + "model-00002-of-00002.safetensors")}, problem.MissingShard},
		{"more ranks than processes", []op{write(dir+"rng_state_2.pth", anyTorch())}, ""},
		{"each node saves", []op{changed(dir+"training_args.bin", func([]byte) []byte {
			return torchSaved(pickled("save_on_each_node", true, "num_processes", 4), 0)
		}), rename(dir+"rng_state_0.pth", dir+"rng_state_2.pth"), rename(dir+"rng_state_1.pth", dir+"rng_state_3.pth")}, ""},
	})
	mutate(t, Options{}, "checkpoint-4", hfSaveFSDP(t, "checkpoint-4"), []mutation{
		{"FSDP", nil, ""},
		{"model's metadata is gone", []op{remove(dir + "pytorch_model_fsdp_0/.metadata")}, problem.NoMarker},
		{"optimizer's metadata is gone", []op{remove(dir + "optimizer_0/.metadata")}, problem.NoMarker},
		{"optimizer is gone", []op{remove(dir + "optimizer_0")}, problem.WeightsOnly},
		{"model's shard is gone", []op{remove(dir + "pytorch_model_fsdp_0/__0_0.distcp")}, problem.MissingShard},
		{"a file per rank", []op{remove(dir + "pytorch_model_fsdp_0"), remove(dir + "optimizer_0"),
			write(dir+"pytorch_model_fsdp_0_rank0.bin", anyTorch()), write(dir+"pytorch_model_fsdp_0_rank1.bin", anyTorch()),
			write(dir+"optimizer_0_rank0.bin", anyTorch()), write(dir+"optimizer_0_rank1.bin", anyTorch()),
			touched(dir + "trainer_state.json")}, ""},
		{"a rank's file is missing", []op{remove(dir + "pytorch_model_fsdp_0"), remove(dir + "optimizer_0"),
			write(dir+"pytorch_model_fsdp_0_rank1.bin", anyTorch())}, problem.MissingShard},
		{"ranks differ", []op{write(dir+"pytorch_model_fsdp_0_rank0.bin", anyTorch()),
			write(dir+"optimizer_0_rank0.bin", anyTorch()), write(dir+"optimizer_0_rank1.bin", anyTorch())},
			problem.MissingShard},
	})
}

// hfSaveDeepSpeed is the order of two processes with ZeRO.
func hfSaveDeepSpeed(dir string) []op {
	state := torchSaved(pickled("global_steps", 4, "dp_world_size", 2, "mp_world_size", 1, "param_shapes", true), 0)
	return []op{
		write(dir+"/training_args.bin", hfArgsOf(2)),
		write(dir+"/global_step4/mp_rank_00_model_states.pt", state),
		write(dir+"/global_step4/zero_pp_rank_0_mp_rank_00_optim_states.pt", anyTorch()),
		write(dir+"/global_step4/zero_pp_rank_1_mp_rank_00_optim_states.pt", anyTorch()),
		writeText(dir+"/latest", "global_step4"),
		write(dir+"/rng_state_1.pth", anyTorch()),
		write(dir+"/rng_state_0.pth", anyTorch()),
		writeText(dir+"/trainer_state.json", hfStateJSON(4)),
	}
}

func TestHFTrainerDeepSpeed(t *testing.T) {
	const dir = "checkpoint-4/"
	save := hfSaveDeepSpeed("checkpoint-4")
	playPrefixes(t, Options{}, "checkpoint-4", save)
	mutate(t, Options{}, "checkpoint-4", save, []mutation{
		{"whole", nil, ""}, // the scheduler is DeepSpeed's own
		{"without an optimizer", []op{remove(dir + "global_step4"), write(dir+"global_step4/mp_rank_00_model_states.pt",
			torchSaved(pickled("dp_world_size", 1, "mp_world_size", 1, "optimizer", nil), 0)),
			touched(dir + "trainer_state.json")}, problem.WeightsOnly},
		{"pointer is gone", []op{remove(dir + "latest")}, problem.NoMarker},
		{"pointer is empty", []op{writeText(dir+"latest", "")}, problem.PointerMalformed},
		{"pointer leads nowhere", []op{writeText(dir+"latest", "global_step5")}, problem.PointerDangling},
		{"a rank's share is gone", []op{remove(dir + "global_step4/zero_pp_rank_1_mp_rank_00_optim_states.pt")},
			problem.MissingShard},
		{"saved over", []op{touched(dir + "global_step4/zero_pp_rank_1_mp_rank_00_optim_states.pt")},
			problem.OverwriteInProgress},
	})
	d := newDisk(t)
	d.play(save...)
	c := one(t, see(t, d.fs(), Options{Level: Manifests}), "checkpoint-4")
	if c.Format != "hf_trainer+deepspeed" || c.Elastic || c.WorldSize != 2 {
		t.Errorf("%+v", c)
	}
	unknownWhenUnreadable(t, save, "", "checkpoint-4", dir+"latest", dir+"global_step4")
}

func TestHFTrainerFind(t *testing.T) {
	d := newDisk(t)
	d.play(hfSave("checkpoint-500", 500)...)
	d.play(hfSave("checkpoint-1000", 1000)...)
	d.play(mkdir("checkpoint-1500"), mkdir("tmp-checkpoint-1500"), mkdir("checkpoint-x"), mkdir("my-checkpoint-7"),
		mkdir("checkpoint-7.bad"), writeText("checkpoint-9", "a file"), symlink("checkpoint-500", "best"))
	cs := see(t, d.fs(), Options{Level: Manifests})
	if len(cs) != 4 || cs[2].Path != "checkpoint-1000" || cs[3].Path != "checkpoint-500" ||
		!cs[2].Complete || !cs[3].Complete {
		t.Fatalf("%s", list(cs))
	}
	if c := one(t, cs, "checkpoint-1500"); c.Reason != problem.NoMarker {
		t.Errorf("an empty one: %s", c.Reason)
	}
	if c := one(t, cs, "tmp-checkpoint-1500"); c.Reason != problem.InProgress {
		t.Errorf("a temporary one: %s", c.Reason)
	}
	c := cs[2]
	if c.Format != "hf_trainer" || c.Step != 1000 || c.Tag != "checkpoint-1000" || c.WorldSize != 1 || !c.Elastic ||
		c.ModifiedFrom != ModifiedMarker || c.Basis != BasisMarker || c.Size == 0 {
		t.Errorf("%+v", c)
	}
}

func TestHFTrainerUnreadable(t *testing.T) {
	save := hfSaveTwo("checkpoint-4", hfArgsOf(2))
	unknownWhenUnreadable(t, save, "", "checkpoint-4", "checkpoint-4", "checkpoint-4/trainer_state.json",
		"checkpoint-4/training_args.bin", "checkpoint-4/optimizer.pt", "checkpoint-4/rng_state_1.pth",
		"checkpoint-4/model-00001-of-00002.safetensors", "checkpoint-4/model.safetensors.index.json")
}

// A state of a long training is read at its ends alone, at the level at which no more is read.
func TestHFTrainerLargeState(t *testing.T) {
	const log = `"log_history": [`
	large := strings.Replace(hfStateJSON(4), log, log+strings.Repeat(`{"loss": NaN},`, 30_000), 1)
	for _, test := range []struct {
		name  string
		text  string
		level Level
		want  problem.Reason
	}{
		{"whole", large, Ends, ""},
		{"whole", large, Manifests, ""},
		{"cut", large[:len(large)-5], Ends, problem.BadJSON},
		{"broken in the middle", strings.Replace(large, "},{", "},", 1), Ends, ""},
		{"broken in the middle", strings.Replace(large, "},{", "},", 1), Manifests, problem.BadJSON},
	} {
		d := newDisk(t)
		d.play(hfSave("checkpoint-4", 4)...)
		d.play(writeText("checkpoint-4/trainer_state.json", test.text))
		if c := one(t, see(t, d.fs(), Options{Level: test.level}), "checkpoint-4"); c.Reason != test.want {
			t.Errorf("%s at level %d: %q (%s), want %q", test.name, test.level, c.Reason, c.Detail, test.want)
		}
	}
}

func TestFinite(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":NaN}`:               `{"a":0  }`,
		`[-Infinity,Infinity]`:    `[-0       ,0       ]`,
		`{"NaN":"-Infinity NaN"}`: `{"NaN":"-Infinity NaN"}`,
		`{"a\"NaN":NaN}`:          `{"a\"NaN":0  }`,
		`{"a\\":NaN}`:             `{"a\\":0  }`,
		`Na`:                      `Na`,
		`"\`:                      `"\`,
		`"`:                       `"`,
	} {
		data := []byte(text)
		if finite(data); string(data) != want {
			t.Errorf("%s: %s, want %s", text, data, want)
		}
	}
}

func FuzzFinite(f *testing.F) {
	f.Add([]byte(hfStateJSON(1)))
	f.Add([]byte(`"\`))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := string(data)
		finite(data)
		if len(data) != len(before) {
			t.Fatal("another length")
		}
		if json.Valid([]byte(before)) && string(data) != before {
			t.Errorf("%q was JSON and became %q", before, data)
		}
	})
}
