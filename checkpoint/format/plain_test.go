package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func TestPlainPrefixes(t *testing.T) {
	data := anyTorch()
	playPrefixes(t, Options{}, "model_100.pt", []op{
		write("model_100.pt", nil), write("model_100.pt", data[:len(data)/2]), write("model_100.pt", data),
	})
	playPrefixes(t, Options{}, "model.safetensors.index.json", []op{
		write("model-00001-of-00002.safetensors", anySafetensors()),
		write("model-00002-of-00002.safetensors", anySafetensors()),
		writeText("model.safetensors.index.json", weightsIndex(2)[:30]),
		writeText("model.safetensors.index.json", weightsIndex(2)),
	})
}

// anyState is what a program of somebody's own saves: weights, the state of an optimizer, and its step.
func anyState(step int) []byte {
	return torchSaved(pickled("model", []any{"weight", pickledTensor(0)}, "optimizer", []any{"exp_avg", pickledTensor(1)}, "step", step), 2)
}

func TestPlainMutations(t *testing.T) {
	mutate(t, Options{}, "model_100.pt", []op{write("model_100.pt", anyState(100))}, []mutation{
		{"whole", nil, ""},
		{"cut", []op{truncated("model_100.pt", -1)}, problem.Truncated},
		{"empty", []op{truncated("model_100.pt", 0)}, problem.EmptyFile},
		{"interrupted", []op{write("model_100.pt", torchInterrupted())}, problem.ZipMissingRecords},
		{"weights", []op{write("model_100.pt", anyTorch())}, problem.WeightsOnly},
	})
	mutate(t, Options{}, "policy_7.safetensors", []op{write("policy_7.safetensors", anySafetensors())}, []mutation{
		{"weights", nil, problem.WeightsOnly},
		{"cut", []op{truncated("policy_7.safetensors", -1)}, problem.Truncated},
	})
	mutate(t, Options{}, "model.safetensors", []op{write("model.safetensors", anySafetensors())}, []mutation{
		{"a model by itself", nil, problem.WeightsOnly},
	})
	mutate(t, Options{}, "model.safetensors.index.json", []op{
		write("model-00001-of-00002.safetensors", anySafetensors()),
		write("model-00002-of-00002.safetensors", anySafetensors()),
		writeText("model.safetensors.index.json", weightsIndex(2)),
	}, []mutation{
		{"a model by itself", nil, problem.WeightsOnly},
		{"a shard is gone", []op{remove("model-00001-of-00002.safetensors")}, problem.MissingShard},
		{"a shard is saved over", []op{touched("model-00001-of-00002.safetensors")}, problem.OverwriteInProgress},
		{"its configuration is empty", []op{write("config.json", nil)}, problem.EmptyFile},
		{"its configuration", []op{writeText("config.json", "{}")}, problem.WeightsOnly},
		{"index is gone", []op{remove("model.safetensors.index.json")}, problem.NoMarker},
	})
}

func TestPlainFind(t *testing.T) {
	d := newDisk(t)
	d.play(
		write("ckpt_9.pt", anyState(9)), write("ckpt_10.tar", anyState(10)), write("ckpt_11.pth.tar", anyState(11)),
		write("latest", anyState(12)), write("checkpoint_prev.pt", anyState(8)), write("step_7/state.pt", anyState(7)),
		write("checkpoint-6/model.pt", anyTorch()), write("checkpoint-6/optimizer.pt", anyState(6)),
		write("other_epoch3.pt", torchSaved(pickled("epoch", 3, "model", []any{"weight", pickledTensor(0)}), 1)),
		write(".hidden.pt", anyTorch()), writeText("notes.txt", ""), mkdir("dir_5.pt"), write("ckpt_12.pt.tmp", nil),
		write("train.bin", []byte("tokens and tokens")), write("last.pt", anyState(12)[:400]),
	)
	want := map[string]int64{"ckpt_9.pt": 9, "ckpt_10.tar": 10, "ckpt_11.pth.tar": 11, "checkpoint_prev.pt": 8,
		"latest": 12, "step_7": 7, "checkpoint-6": 6, "other_epoch3.pt": 3}
	cs := see(t, d.fs(), Options{Level: Manifests})
	for path, step := range want {
		c := one(t, cs, path)
		if c.Step != step || !c.Complete || !c.Resumable || c.Format != "plain" || !c.Training || c.Size == 0 ||
			(c.Unit == UnitEpoch) != (step == 3) {
			t.Errorf("%+v", c)
		}
	}
	if c := one(t, cs, "last.pt"); c.Complete || !c.InPlace {
		t.Errorf("%+v", c)
	}
	if len(cs) != len(want)+1 {
		t.Errorf("%s", list(cs))
	}
}

func FuzzPlainNames(f *testing.F) {
	f.Add("weights.10-0.25")
	f.Fuzz(func(_ *testing.T, name string) {
		shardIndex(name)
		composerName(name)
		nameStep(&Checkpoint{}, name)
		nemoRank(name)
	})
}

func TestPlainShardIndex(t *testing.T) {
	for name, want := range map[string]string{
		"model-00001-of-00003.safetensors": "model.safetensors.index.json",
		"a-b-1-of-2.bin":                   "a-b.bin.index.json",
		"model-of-2.bin":                   "",
		"model-1-of-2.pt":                  "",
		"model-x-of-2.bin":                 "",
	} {
		if index, ok := shardIndex(name); ok != (want != "") || ok && index != want {
			t.Errorf("%s: %q %v", name, index, ok)
		}
	}
}

func TestPlainUnreadable(t *testing.T) {
	unknownWhenUnreadable(t, []op{write("model_100.pt", anyTorch())}, "", "model_100.pt", "model_100.pt")
}

// TestPlainShards counts shards whose names say how many there are, and misses no configuration.
func TestPlainShards(t *testing.T) {
	shard := func(step, n, of int) op {
		return write(fmt.Sprintf("save-%d/model-%05d-of-%05d.safetensors", step, n, of), anySafetensors())
	}
	var ops []op
	for step := 1; step <= 3; step++ {
		ops = append(ops, shard(step, 1, 3), shard(step, 2, 3), shard(step, 3, 3), writeText(fmt.Sprintf("save-%d/config.json", step), "{}"),
			write(fmt.Sprintf("save-%d/optimizer.pt", step), anyState(step)))
	}
	mutate(t, Options{}, "save-3", ops, []mutation{
		{"whole", nil, ""},
		{"a shard is missing", []op{remove("save-3/model-00002-of-00003.safetensors")}, problem.MissingShard},
		{"the last shard is missing", []op{remove("save-3/model-00003-of-00003.safetensors")}, problem.MissingShard},
		{"one of an earlier save is left", []op{shard(3, 4, 4)}, ""},
		{"the configuration is missing", []op{remove("save-3/config.json")}, ""},
		{"the optimizer is missing", []op{remove("save-3/optimizer.pt")}, problem.MissingShard},
	})
}

// TestFlax knows what flax keeps in one file of MessagePack, under its own names without an ending.
func TestFlax(t *testing.T) {
	state := []byte("\x82\xa4step\xcd\x01\x2c\xa9opt_state\x81\xa10\xc7\x0f\x01\x93\x91\x01\xa7float32\xc4\x02ww")
	mutate(t, Options{}, "checkpoint_300", []op{write("checkpoint_200", state), write("checkpoint_300", state)}, []mutation{
		{"whole", nil, ""},
		{"cut", []op{truncated("checkpoint_300", -1)}, problem.Truncated},
		{"longer", []op{appended("checkpoint_300", []byte{0})}, problem.SizeMismatch},
		{"zeros", []op{zeroed("checkpoint_300", 0, len(state))}, problem.BadZip},
		{"weights", []op{write("checkpoint_300", []byte("\x81\xa6params\x81\xa10"+string(state[22:])))}, problem.WeightsOnly},
	})
	d := newDisk(t)
	d.play(write("checkpoint_7", state))
	if c := one(t, see(t, d.fs(), Options{Level: Manifests}), "checkpoint_7"); c.Step != 300 || !c.Optimizer {
		t.Errorf("%+v", c)
	}
	d = newDisk(t)
	d.play(write("data_7", state))
	if cs := see(t, d.fs(), Options{Level: Manifests}); len(cs) != 0 {
		t.Errorf("data of somebody's: %s", list(cs))
	}
}

// TestPlainDirectories: best and last in one directory are two checkpoints, and what a run has left behind is not taken
// before the others are seen. Weights in shards are no export where the rest of a training state lies beside them.
func TestPlainDirectories(t *testing.T) {
	d := newDisk(t)
	d.play(write("weights/best.pt", anyState(5)), write("weights/last.pt", anyState(7)))
	if c := one(t, see(t, d.fs(), Options{Level: Manifests}), "weights/last.pt"); !c.Complete || c.Step != 7 {
		t.Errorf("%+v", c)
	}
	d = newDisk(t)
	d.play(write("out/ckpt.pt", anyState(5)), write("out-old-idea/ckpt.pt", anyState(7)))
	found, err := Find(context.Background(), d.fs(), Options{})
	if err != nil || !found.Apart || len(found.Below) != 2 {
		t.Errorf("%+v, %v", found, err)
	}
	for runs, apart := range map[[2]string]bool{{"01-resnet", "02-vit"}: true, {"run_1", "run_2"}: false} {
		d = newDisk(t)
		d.play(write(runs[0]+"/ckpt_900.pt", anyState(900)), write(runs[1]+"/ckpt_100.pt", anyState(100)))
		if found, err := Find(context.Background(), d.fs(), Options{}); err != nil || found.Apart != apart {
			t.Errorf("%v: apart %v, %v", runs, found.Apart, err)
		}
	}
	d = newDisk(t)
	d.play(write("step-100/model-00001-of-00002.safetensors", anySafetensors()), write("step-100/model-00002-of-00002.safetensors", anySafetensors()),
		writeText("step-100/model.safetensors.index.json", weightsIndex(2)), write("step-100/optimizer.pt", anyState(100)))
	if c := one(t, see(t, d.fs(), Options{Level: Manifests}), "step-100"); c.Format != "plain" || !c.Complete || !c.Resumable {
		t.Errorf("%+v", c)
	}
}

// TestJoblib: the arrays lie between the opcodes of the pickle.
func TestJoblib(t *testing.T) {
	data := append(append([]byte("\x80\x04}\x8c\x01w"), make([]byte, 300)...), "s."...)
	mutate(t, Options{}, "model_epoch5.joblib", []op{write("model_epoch5.joblib", data)}, []mutation{
		{"whole", nil, ""},
		{"cut", []op{truncated("model_epoch5.joblib", -1)}, problem.BadPickle},
		{"compressed", []op{write("model_epoch5.joblib", gzipped(t, data))}, ""},
		{"compressed and cut", []op{write("model_epoch5.joblib", gzipped(t, data)[:20])}, problem.Truncated},
	})
}

// gone is a file that cannot be read any more.
type gone struct{ *bytes.Reader }

func (g *gone) ReadAt(p []byte, at int64) (int, error) {
	if g.Reader == nil {
		return 0, syscall.EIO
	}
	return g.Reader.ReadAt(p, at)
}

// TestCountUnreadable: that the number in a tensor cannot be read does not mean that there is none.
func TestCountUnreadable(t *testing.T) {
	data := torchSaved(pickled("model", []any{"w", pickledTensor(0)}, "step", pickledCount(1)), 2)
	g := &gone{bytes.NewReader(data)}
	shape, err := file.TorchShape(g, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if in := contentOf(shape); in.err != nil || in.step != 0x04030201 {
		t.Errorf("%+v", in)
	}
	g = &gone{bytes.NewReader(data)}
	if shape, err = file.TorchShape(g, int64(len(data))); err != nil {
		t.Fatal(err)
	}
	g.Reader = nil
	if in := contentOf(shape); !errors.Is(in.err, syscall.EIO) {
		t.Errorf("%+v", in)
	}
}

// cyclic is a dict of so many keys, each of which leads to it.
func cyclic(keys int) string {
	s := "}q\x07("
	for i := range keys {
		s += fmt.Sprintf("X\x04\x00\x00\x00k%03dh\x07", i)
	}
	return s + "u"
}

// TestKeptIn: a directory is there to keep one file in, or checkpoints each in a directory of its own; and of a save that
// holds nothing but its settings any more it is known that it is cut.
func TestKeptIn(t *testing.T) {
	type reasons = map[string]problem.Reason // by path
	settings := func(dir string) op { return writeText(dir+"/adapter_config.json", "{}") }
	for name, tt := range map[string]struct {
		ops  []op
		want reasons
	}{
		"one file": {[]op{write("checkpoint/ckpt.pth", anyState(7))},
			reasons{"checkpoint/ckpt.pth": ""}},
		"beside another": {[]op{write("best.pt", anyState(5)), write("checkpoints/last.pt", anyState(7))},
			reasons{"best.pt": "", "checkpoints/last.pt": ""}},
		"trials": {[]op{write("trial_ab12c_00000/checkpoint_000002/checkpoint", anyState(2)), write("trial_ab12c_00000/checkpoint_000003/checkpoint", anyState(3))},
			reasons{"trial_ab12c_00000/checkpoint_000002": "", "trial_ab12c_00000/checkpoint_000003": ""}},
		"by time": {[]op{write("03-04-05/checkpoints/last.pt", anyState(7))},
			reasons{"03-04-05/checkpoints/last.pt": ""}},
		"settings are left": {[]op{settings("adapter-2"), write("adapter-2/adapter_model.safetensors", anySafetensors()), settings("adapter-3"), writeText("adapter-3/README.md", "")},
			reasons{"adapter-2": problem.WeightsOnly, "adapter-3": problem.MissingShard}},
		"times in names": {[]op{write("model_20260102-030405.pt", anyState(1)), write("model_20260103-030405.pt", anyState(2))},
			reasons{"model_20260102-030405.pt": "", "model_20260103-030405.pt": ""}},
		"parts": {[]op{write("m_10-part-0-shard0.pt", anyState(10)), write("m_10-part-1-shard0.pt", anyState(10)), write("m_20-part-0-shard0.pt", anyState(20))},
			reasons{"m_10-part-0-shard0.pt": "", "m_20-part-0-shard0.pt": problem.MissingShard}},
		"somebody's ending": {[]op{write("step_7.own", anyState(7)), write("step_7.png", anyState(7))},
			reasons{"step_7.own": ""}},
		"an average counts its own updates": {[]op{write("ckpt_9.pt", anyState(9)), write("ema_9.pt", torchSaved(pickled("w", pickledTensor(0), "step", pickledCount(1)), 2))},
			reasons{"ckpt_9.pt": ""}},
		"and in plain numbers": {[]op{write("ckpt_9.pt", anyState(9)), write("ema_9.pt", torchSaved(pickled("shadow", []any{"w", pickledTensor(0)}, "step", 5), 1))},
			reasons{"ckpt_9.pt": ""}},
		"a sampler counts batches": {[]op{write("step_9/model.pt", anyState(9)), write("step_9/sampler.pt", pickled("batch_idx_train", 5, "optimizer_step", 7))},
			reasons{"step_9": ""}},
		"a tensor of an earlier epoch": {[]op{write("step_9/model.pt", torchSaved(pickled("w", pickledTensor(0), "step", pickledCount(1)), 2)), write("step_9/opt.pt", anyState(9))},
			reasons{"step_9": ""}},
		"two steps under a name that counts the training": {[]op{write("step_9/model.pt", anyState(9)), write("step_9/opt.pt", torchSaved(pickled("opt", []any{"m", pickledTensor(0)}, "global_step", 8), 1))},
			reasons{"step_9": problem.StepMismatch}},
		"two steps under one name": {[]op{write("step_9/model.pt", torchSaved(pickled("model", []any{"m", pickledTensor(0)}, "num_steps", 9), 1)), write("step_9/opt.pt", torchSaved(pickled("opt", []any{"m", pickledTensor(0)}, "num_steps", 8), 1))},
			reasons{"step_9": problem.StepMismatch}},
		"a counter among buffers": {[]op{write("pretrained.pt", torchSaved(pickled("w", pickledTensor(0), "step", pickledCount(1), "_metadata", []any{"version", 1}), 2))},
			reasons{"pretrained.pt": problem.WeightsOnly}},
		"a step in a tensor": {[]op{write("ckpt.pt", torchSaved(pickled("model", []any{"w", pickledTensor(0)}, "step", pickledCount(1)), 2))},
			reasons{"ckpt.pt": ""}},
		"pictures in a directory of a step": {[]op{write("ckpt_9.pt", anyState(9)), writeText("samples_step_9/img_step_9.exr", "v/1")},
			reasons{"ckpt_9.pt": ""}},
		"pictures beside some of the states": {[]op{write("step_7/state.pt", anyState(7)), writeText("step_7/img_step_7.tiff", "II*"), write("step_8/state.pt", anyState(8)),
			writeText("step_8/img_step_8.tiff", "II*"), write("step_9/state.pt", anyState(9))},
			reasons{"step_7": "", "step_8": "", "step_9": ""}},
		"somebody's ending, of no known form": {[]op{writeText("100/state.raw", "random bytes")},
			reasons{}},
		"somebody's ending in a directory": {[]op{write("100/state.raw", anyState(100))},
			reasons{"100": ""}},
		"a list of itself": {[]op{write("ckpt_1.pt", []byte("\x80\x02]q\x01h\x01a."))},
			reasons{"ckpt_1.pt": problem.WeightsOnly}},
		"dicts that hold one another": {[]op{write("ckpt_1.pt", torchSaved(pickled("step", 1, "state", pickledOps(cyclic(300))), 0))},
			reasons{"ckpt_1.pt": ""}},
		"saves numbered as parts are": {[]op{write("part_1.pt", anyState(100)), write("part_2.pt", anyState(200)), write("shard_1.pt", anyState(300)), write("ckpt_mp_2.pt", anyState(400))},
			reasons{"part_1.pt": "", "part_2.pt": "", "shard_1.pt": "", "ckpt_mp_2.pt": ""}},
		"numbers of ranks without a word": {[]op{write("step_9/model_0.pt", anyState(9)), write("step_9/model_1.pt", anyState(9)),
			write("step_9/optimizer_0.pt", anyState(9)), write("step_9/optimizer_1.pt", anyState(9))},
			reasons{"step_9": ""}},
		"one of them is missing": {[]op{write("step_8/model_0.pt", anyState(8)), write("step_8/model_1.pt", anyState(8)), write("step_9/model_0.pt", anyState(9))},
			reasons{"step_8": "", "step_9": problem.MissingRankState}},
		"directories in that of a step": {[]op{write("checkpoint-9/weights/model.pt", anyTorch()), write("checkpoint-9/optimizer/optim.pt", anyState(9))},
			reasons{"checkpoint-9": ""}},
		"one called weights in that of an iteration": {[]op{write("iter_0000009/weights/model.pt", anyState(9))},
			reasons{"iter_0000009": ""}},
		"steps in a directory of each epoch": {[]op{write("epoch_1/step_500.pt", anyState(500)), write("epoch_2/step_900/state.pt", anyState(900))},
			reasons{"epoch_1/step_500.pt": "", "epoch_2/step_900": ""}},
		"arguments beside": {[]op{write("step_9.pt", anyState(9)), write("args.pt", torchSaved(pickled("lr", 1, "epochs", 10), 0))},
			reasons{"step_9.pt": ""}},
		"an epoch in a name of Lightning's": {[]op{write("epoch=3.ckpt", anyState(9)), write("epoch=4.ckpt", nil)},
			reasons{"epoch=3.ckpt": "", "epoch=4.ckpt": problem.EmptyFile}},
		"a copy under way": {[]op{write("ckpt_7.pt.6bE5Ba1F", anyState(7))},
			reasons{}},
	} {
		d := newDisk(t)
		d.play(tt.ops...)
		got := reasons{}
		for _, c := range see(t, d.fs(), Options{Level: Manifests}) {
			got[c.Path] = c.Reason
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
