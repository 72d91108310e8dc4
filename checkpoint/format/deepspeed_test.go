package format

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// savedFile is a file of torch.save with a dictionary of these keys, each followed by the opcodes of its value, as
// Python pickles it: with a BINPUT behind each key.
func savedFile(keysAndValues ...string) []byte {
	p := filetest.NewPickle(2).Op("}q\x00(")
	for i := 0; i < len(keysAndValues); i += 2 {
		p.Text(keysAndValues[i]).Op("q\x01").Op(keysAndValues[i+1])
	}
	return filetest.Zip(
		filetest.Record{Name: "archive/data.pkl", Data: p.Op("u").Stop()},
		filetest.Record{Name: "archive/byteorder", Data: []byte("little")},
		filetest.Record{Name: "archive/version", Data: []byte("3\n")},
	)
}

// The opcodes of some values.
const (
	savedNone = "N"
	savedTrue = "\x88"
	savedList = "]q\x02"
)

func savedInt(n int) string { return "K" + string([]byte{byte(n)}) }

// deepSpeedSave is one save by DeepSpeed.
type deepSpeedSave struct {
	tag    string
	dp, mp int
	stage  int
	prefix string // of the optimizer's files
	silent bool   // the state says nothing of the ranks, as in a dummy
	node   bool   // use_node_local_storage
	more   []string
}

func (s deepSpeedSave) state() []byte {
	optimizer, shapes := savedNone, savedList
	if s.stage == 0 {
		optimizer, shapes = "}q\x05", savedNone
	}
	if s.silent {
		return filetest.Torch([]byte("weights"))
	}
	keys := []string{"optimizer", optimizer, "param_shapes", shapes, "global_steps", "M\x2c\x01", "dp_world_size",
		savedInt(s.dp), "mp_world_size", savedInt(s.mp)}
	if s.node {
		keys = append(keys, "use_node_local_storage", savedTrue)
	}
	return savedFile(append(keys, s.more...)...)
}

// ops is the order in which the ranks write when they take turns: the states of the model, those of the optimizer, and
// then the first rank writes latest.
func (s deepSpeedSave) ops() (ops []op) {
	ops = append(ops, mkdir(s.tag))
	for mp := range s.mp {
		for dp := range s.dp {
			if s.stage == 3 {
				ops = append(ops, write(fmt.Sprintf("%s/zero_pp_rank_%d_mp_rank_%02d_model_states.pt", s.tag, dp, mp), s.state()))
			} else if dp == 0 {
				ops = append(ops, write(fmt.Sprintf("%s/mp_rank_%02d_model_states.pt", s.tag, mp), s.state()))
			}
		}
	}
	for mp := range s.mp {
		for dp := range s.dp {
			if s.stage > 0 {
				ops = append(ops, write(fmt.Sprintf("%s/%szero_pp_rank_%d_mp_rank_%02d_optim_states.pt", s.tag, s.prefix, dp, mp),
					filetest.Torch([]byte("moments"))))
			}
		}
	}
	return append(ops, writeText("latest", s.tag))
}

func TestDeepSpeedPrefixes(t *testing.T) {
	for _, s := range []deepSpeedSave{
		{tag: "global_step300", dp: 2, mp: 1, stage: 0},
		{tag: "global_step300", dp: 1, mp: 2, stage: 0},
		{tag: "global_step300", dp: 2, mp: 2, stage: 1, prefix: "bf16_"},
		{tag: "global_step300", dp: 3, mp: 1, stage: 2},
		{tag: "global_step300", dp: 2, mp: 2, stage: 3},
		{tag: "300", dp: 2, mp: 1, stage: 2, prefix: "fp16_"}, // as DLRover names it
	} {
		t.Run(fmt.Sprintf("%s %dx%d stage %d", s.tag, s.dp, s.mp, s.stage), func(t *testing.T) {
			ops := s.ops()
			// Only the pointer is missing from the last but one: it makes nothing whole.
			playPrefixes(t, Options{}, s.tag, ops, len(ops)-1)
		})
	}
}

func TestDeepSpeedFields(t *testing.T) {
	d := newDisk(t)
	d.play(deepSpeedSave{tag: "global_step300", dp: 2, mp: 2, stage: 2, prefix: "bf16_"}.ops()...)
	c := one(t, see(t, d.fs(), Options{Level: Manifests}), "global_step300")
	last := firstSecond.Add(70 * time.Second)
	if c.Format != "deepspeed" || c.Step != 300 || c.StepFrom != StepFromName || c.Basis != BasisManifest ||
		c.WorldSize != 4 || c.Elastic || c.ShardsExpected != 6 || c.ShardsFound != 6 || !c.Modified.Equal(last) ||
		c.ModifiedFrom != ModifiedShard || c.Tag != "global_step300" || c.Root != "." || c.Size == 0 {
		t.Errorf("%+v", c)
	}
}

func TestDeepSpeedStepInside(t *testing.T) {
	d := newDisk(t)
	d.play(deepSpeedSave{tag: "best", dp: 1, mp: 1, stage: 2}.ops()...)
	c := one(t, see(t, d.fs(), Options{Level: Manifests}), "best")
	if !c.Complete || c.Step != 300 || c.StepFrom != StepFromManifest {
		t.Errorf("%+v", c)
	}
}

func TestDeepSpeedMutations(t *testing.T) {
	const tag = "global_step300"
	file := func(name string) string { return tag + "/" + name }
	optim := file("bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt")
	save := deepSpeedSave{tag: tag, dp: 2, mp: 2, stage: 2, prefix: "bf16_"}
	legacy := filetest.TorchLegacy([]byte("moments"))
	mutate(t, Options{}, tag, save.ops(), []mutation{
		{"rank missing", []op{remove(optim)}, problem.MissingShard},
		{"last rank missing", []op{remove(file("bf16_zero_pp_rank_1_mp_rank_01_optim_states.pt"))}, problem.MissingShard},
		{"model missing", []op{remove(file("mp_rank_01_model_states.pt"))}, problem.MissingShard},
		{"empty", []op{truncated(optim, 0)}, problem.EmptyFile},
		{"truncated", []op{truncated(optim, -1)}, problem.Truncated},
		{"padded", []op{appended(optim, make([]byte, 4096))}, problem.BadZip},
		{"legacy file", []op{write(optim, legacy)}, ""},
		{"truncated legacy file", []op{write(optim, legacy[:len(legacy)-3])}, problem.Truncated},
		{"a directory in place of a file", []op{remove(optim), mkdir(optim)}, problem.MissingShard},
		{"left over from more ranks", []op{
			write(file("bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt"), []byte("torn")),
			write(file("mp_rank_02_model_states.pt"), nil),
		}, ""},
		{"left over from another precision", []op{
			write(file("zero_pp_rank_0_mp_rank_00_optim_states.pt"), []byte("torn")),
		}, ""},
		{"extra files", []op{writeText(file("notes.txt"), ""), writeText("zero_to_fp32.py", "")}, ""},
		{"no latest", []op{remove("latest")}, ""},
		{"empty latest", []op{truncated("latest", 0)}, ""},
		{"latest names another", []op{writeText("latest", "global_step400")}, ""},
		{"offloaded tensors", []op{
			writeText(file("offloaded_tensors/rank00/a.swp"), "x"), writeText(file("offloaded_tensors/rank01/a.swp"), "x"),
		}, ""},
		{"offloaded tensors of a rank missing", []op{
			writeText(file("offloaded_tensors/rank01/a.swp"), "x"),
		}, problem.MissingRankState},
		{"DLRover has not committed", []op{mkdir("._dlrover_ckpt_stage/300.done")}, problem.UnfinishedMarker},
	})
	stage3 := deepSpeedSave{tag: tag, dp: 2, mp: 1, stage: 3}
	mutate(t, Options{}, tag, stage3.ops(), []mutation{
		{"model's part missing", []op{remove(file("zero_pp_rank_1_mp_rank_00_model_states.pt"))}, problem.MissingShard},
		{"optimizer's part missing", []op{remove(file("zero_pp_rank_1_mp_rank_00_optim_states.pt"))}, problem.MissingShard},
		{"without an optimizer", []op{
			write(file("zero_pp_rank_0_mp_rank_00_model_states.pt"), savedFile("optimizer", savedNone, "param_shapes", savedNone,
				"dp_world_size", savedInt(2), "mp_world_size", savedInt(1))),
			remove(file("zero_pp_rank_0_mp_rank_00_optim_states.pt")), remove(file("zero_pp_rank_1_mp_rank_00_optim_states.pt")),
		}, problem.WeightsOnly},
	})
}

func TestDeepSpeedUniversal(t *testing.T) {
	const tag = "global_step300_universal"
	save := []op{
		write(tag+"/zero/module.weight/fp32.pt", filetest.Torch([]byte("w"))),
		write(tag+"/zero/module.bias/fp32.pt", filetest.Torch([]byte("b"))),
		write(tag+"/mp_rank_00_model_states.pt", deepSpeedSave{dp: 2, mp: 1, stage: 1}.state()),
		writeText("latest_universal", tag),
	}
	mutate(t, Options{}, tag, save, []mutation{
		{"whole", nil, problem.WeightsOnly},
		{"weights missing", []op{remove(tag + "/zero/module.bias/fp32.pt")}, problem.MissingShard},
	})
	d := newDisk(t)
	d.play(save...)
	if c := one(t, see(t, d.fs(), Options{Level: Manifests}), tag); !c.Complete || c.Resumable || c.Step != 300 {
		t.Errorf("%+v", c)
	}
}

func TestDeepSpeedTemporary(t *testing.T) {
	d := newDisk(t)
	d.play(deepSpeedSave{tag: "global_step300.tmp", dp: 2, mp: 1, stage: 2}.ops()...)
	d.play(mkdir("quarantine"), rename("global_step300.tmp", "quarantine/global_step200"))
	d.play(deepSpeedSave{tag: "global_step300.tmp", dp: 2, mp: 1, stage: 2}.ops()...)
	cs := see(t, d.fs(), Options{Level: Manifests})
	if c := one(t, cs, "global_step300.tmp"); c.Complete || c.Reason != problem.InProgress || len(cs) != 1 {
		t.Error(list(cs))
	}
}

func TestDeepSpeedPointer(t *testing.T) {
	old := deepSpeedSave{tag: "global_step200", dp: 2, mp: 1, stage: 2}.ops()
	for _, test := range []struct {
		name, latest, path string
		want               problem.Reason
	}{
		{"dangling", "global_step300", "global_step300", problem.PointerDangling},
		{"empty", "", "latest", problem.PointerMalformed},
		{"outside", "../elsewhere", "latest", problem.PointerMalformed},
		{"several lines", "a\nb", "latest", problem.PointerMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDisk(t)
			d.play(append(old, writeText("latest", test.latest))...)
			cs := see(t, d.fs(), Options{Level: Manifests})
			if c := one(t, cs, test.path); c.Complete || c.Reason != test.want {
				t.Errorf("%+v", c)
			}
			if c := one(t, cs, "global_step200"); !c.Complete {
				t.Errorf("%+v", c)
			}
			if len(cs) != 2 {
				t.Error(list(cs))
			}
		})
	}
}

func TestDeepSpeedNotFound(t *testing.T) {
	for name, ops := range map[string][]op{
		"a file latest of something else": {writeText("latest", "run7")},
		"a link":                          {mkdir("a"), symlink("a", "latest")},
		"plain directories":               {mkdir("10"), mkdir("20"), writeText("20/x.txt", "")},
		"verl":                            {writeText("global_step_10/actor/model_world_size_1_rank_0.pt", "")},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			d.play(ops...)
			if found, err := Find(context.Background(), d.fs(), Options{Format: "deepspeed"}); err != nil ||
				len(found.Checkpoints) > 0 {
				t.Error(list(found.Checkpoints), err)
			}
		})
	}
}

func TestDeepSpeedUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(deepSpeedSave{tag: "global_step300", dp: 2, mp: 1, stage: 2}.ops()...)
	for _, path := range []string{
		"global_step300", "global_step300/mp_rank_00_model_states.pt",
		"global_step300/zero_pp_rank_1_mp_rank_00_optim_states.pt", "._dlrover_ckpt_stage/300.done",
	} {
		broken := failing{d.fs(), path, errors.New("stale file handle")}
		c := one(t, see(t, broken, Options{Level: Manifests}), "global_step300")
		if c.Complete || !c.Reason.Unknown() {
			t.Errorf("%s: %+v", path, c)
		}
	}
}

// TestDeepSpeedHostile is for numbers in names and states that would ask for the work of a lifetime.
func TestDeepSpeedHostile(t *testing.T) {
	for name, op := range map[string]op{
		"name":  write("global_step1/zero_pp_rank_1048575_mp_rank_1048575_optim_states.pt", filetest.Torch()),
		"layer": write("global_step1/layer_999999999999999999_expert_1048575_mp_rank_00_model_states.pt", filetest.Torch()),
		"state": write("global_step1/mp_rank_00_model_states.pt", savedFile("param_shapes", savedList,
			"dp_world_size", "J\x00\x00\x10\x00", "mp_world_size", "J\x00\x00\x10\x00")),
		"experts": write("global_step1/layer_0_expert_0_mp_rank_00_model_states.pt", filetest.Torch()),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			d.play(write("global_step1/mp_rank_00_model_states.pt", savedFile("num_experts", "]q\x01J\x00\x00\x10\x00a")), op)
			if c := one(t, see(t, d.fs(), Options{Level: Manifests}), "global_step1"); c.Complete {
				t.Errorf("%+v", c)
			}
		})
	}
}

func FuzzDeepSpeedNames(f *testing.F) {
	f.Add("bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt")
	f.Add("layer_0_expert_1_mp_rank_00_model_states.pt")
	f.Add("layer_00-model_00-model_states.pt")
	f.Add("expp_rank_0_mp_rank_00_optim_states.pt")
	f.Fuzz(func(t *testing.T, name string) {
		d := &dir{path: ".", names: []string{name}, kinds: nil}
		deepSpeedNames(d)
		files := &deepSpeedFiles{model: grid{}, zeroModel: grid{}, optim: map[string]grid{}, experts: map[int64]grid{},
			expertsOptim: grid{}, layers: map[string]grid{}}
		if files.add(name) {
			var c Checkpoint
			_, _ = deepSpeedWant(files, nil).files(&c, files, len(files.zeroModel) > 0)
		}
		verlRank(name)
		nvrxFile(name)
		tagStep(name)
	})
}

func FuzzSaved(f *testing.F) {
	f.Add([]byte("}(X\x0d\x00\x00\x00dp_world_sizeq\x01K\x02X\x0b\x00\x00\x00num_expertsq\x02]q\x03(K\x04K\x04e"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := saved(data)
		if n, ok := s.number("dp_world_size"); ok && n < 0 {
			t.Error(n)
		}
		if list := s.numbers("num_experts"); len(list) > len(data) {
			t.Error(len(list))
		}
		s.set("param_shapes")
		isNebulaDummy(s)
	})
}
