package format

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

func lightningFile(step int) []byte {
	return torchSaved(pickled("epoch", 0, "global_step", step, lightningWord, "2.5.0", "state_dict", []any{"weight", pickledTensor(0)},
		"optimizer_states", []any{"exp_avg", pickledTensor(1)}), 2)
}

func lightningWeights(step int) []byte {
	return torchSaved(pickled("epoch", 0, "global_step", step, lightningWord, "2.5.0", "state_dict", []any{"weight", pickledTensor(0)}), 1)
}

const lightningName = "epoch=0-step=400.ckpt"

// lightningMoved is the order of a file that is written beside its place.
func lightningMoved() []op {
	return []op{
		write("tmpab12cd", lightningFile(400)[:100]),
		write("tmpab12cd", lightningFile(400)),
		rename("tmpab12cd", lightningName),
	}
}

// lightningInPlace is the order of an older release, or of a move between file systems.
func lightningInPlace() []op {
	data := lightningFile(400)
	return []op{
		write(lightningName, nil),
		write(lightningName, data[:len(data)/2]),
		write(lightningName, data[:len(data)-1]),
		write(lightningName, data),
	}
}

func lightningSharded(t testing.TB) []op {
	return append(distributedSave(t, lightningName, "lightning"),
		write(lightningName+"/meta.pt", torchSaved(pickled("global_step", 400), 0)))
}

func lightningDeepSpeed() []op {
	return []op{
		write(lightningName+"/checkpoint/mp_rank_00_model_states.pt",
			torchSaved(pickled("global_steps", 4, "dp_world_size", 2, "mp_world_size", 1, "param_shapes", true), 0)),
		write(lightningName+"/checkpoint/zero_pp_rank_0_mp_rank_00_optim_states.pt", anyTorch()),
		write(lightningName+"/checkpoint/zero_pp_rank_1_mp_rank_00_optim_states.pt", anyTorch()),
		writeText(lightningName+"/latest", "checkpoint"),
	}
}

func TestLightningPrefixes(t *testing.T) {
	for _, save := range [][]op{lightningMoved(), lightningInPlace(), lightningDeepSpeed()} {
		playPrefixes(t, Options{}, lightningName, save)
	}
	playPrefixes(t, Options{}, lightningName, lightningSharded(t))
}

func TestLightningMutations(t *testing.T) {
	mutate(t, Options{}, lightningName, lightningMoved(), []mutation{
		{"whole", nil, ""},
		{"cut", []op{truncated(lightningName, -1)}, problem.Truncated},
		{"empty", []op{truncated(lightningName, 0)}, problem.EmptyFile},
		{"zeros at its end", []op{appended(lightningName, make([]byte, 4096))}, problem.BadZip},
		{"zeros in it", []op{zeroed(lightningName, 0, 100)}, problem.BadZip},
		{"interrupted", []op{write(lightningName, torchInterrupted())}, problem.ZipMissingRecords},
		{"weights alone", []op{write(lightningName, lightningWeights(400))}, problem.WeightsOnly},
		{"of another library", []op{write(lightningName, anyTorch())}, problem.WeightsOnly},
	})
	mutate(t, Options{}, lightningName, lightningSharded(t), []mutation{
		{"sharded", nil, ""},
		{"without its state", []op{remove(lightningName + "/meta.pt")}, problem.NoMarker},
		{"state is cut", []op{truncated(lightningName+"/meta.pt", -1)}, problem.Truncated},
		{"without metadata", []op{remove(lightningName + "/.metadata")}, problem.NoMarker},
		{"a shard is gone", []op{remove(lightningName + "/__0_0.distcp")}, problem.MissingShard},
		{"saved over", []op{touched(lightningName + "/__0_0.distcp"), touched(lightningName + "/.metadata")},
			problem.OverwriteInProgress},
	})
	mutate(t, Options{}, lightningName, lightningDeepSpeed(), []mutation{
		{"DeepSpeed", nil, ""},
		{"a rank's share is gone", []op{remove(lightningName + "/checkpoint/zero_pp_rank_1_mp_rank_00_optim_states.pt")},
			problem.MissingShard},
		{"pointer leads nowhere", []op{writeText(lightningName+"/latest", "other")}, problem.PointerDangling},
	})
	weights := append(distributedSave(t, lightningName, "model"), write(lightningName+"/meta.pt", anyTorch()))
	mutate(t, Options{}, lightningName, weights, []mutation{{"sharded weights", nil, problem.WeightsOnly}})
}

func TestLightningFind(t *testing.T) {
	d := newDisk(t)
	d.play(lightningMoved()...)
	d.play(
		write("epoch=1-step=800.ckpt", lightningFile(800)),
		symlink("epoch=1-step=800.ckpt", "last.ckpt"),
		write("last-v1.ckpt", lightningFile(900)),
		write("hpc_ckpt_3.ckpt", lightningFile(1000)),
		symlink("gone.ckpt", "last-v2.ckpt"),
		symlink("last-v3.ckpt", "last-v3.ckpt"),
		writeText("hparams.yaml", ""),
	)
	want := map[string]struct {
		step   int64
		from   StepFrom
		reason problem.Reason
	}{
		"epoch=1-step=800.ckpt": {800, StepFromName, ""},
		lightningName:           {400, StepFromName, ""},
		"last-v1.ckpt":          {900, StepFromManifest, ""},
		"hpc_ckpt_3.ckpt":       {1000, StepFromManifest, ""},
		"last-v2.ckpt":          {-1, "", problem.PointerDangling},
		"last-v3.ckpt":          {-1, "", problem.IOError}, // a link to itself: unknown
	}
	cs := see(t, d.fs(), Options{Level: Manifests})
	if len(cs) != len(want) {
		t.Fatalf("%s", list(cs))
	}
	for name, w := range want {
		if c := one(t, cs, name); c.Step != w.step || c.StepFrom != w.from || c.Reason != w.reason ||
			c.Format != "lightning" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	// A copy is no link.
	d.play(remove("last.ckpt"), write("last.ckpt", lightningFile(800)))
	if c := one(t, see(t, d.fs(), Options{Level: Names}), "last.ckpt"); c.Step != -1 || !c.Complete {
		t.Errorf("a copy: %+v", c)
	}
	// A link to a directory is one.
	d = newDisk(t)
	d.play(slices.Concat(lightningSharded(t), []op{symlink(d.path(lightningName), "last.ckpt")})...)
	if cs := see(t, d.fs(), Options{Level: Manifests}); len(cs) != 1 || cs[0].Format != "lightning+dcp" || !cs[0].Elastic {
		t.Errorf("%s", list(cs))
	}
}

func TestNameStep(t *testing.T) {
	for name, want := range map[string]int64{
		"epoch=3-step=400":                    400,
		"step=000100-v1":                      100,
		"gpt--val_loss=2.5-step=20.0-last":    20,
		"model-epoch=1-global_step=7":         7,
		"timestep=5":                          -1,
		"timestep=5-step=6":                   6,
		"step=":                               -1,
		"step=x":                              -1,
		"epoch=3":                             -1,
		"400":                                 -1,
		"step=" + strings.Repeat("9", 30):     -1,
		strings.Repeat("xstep=", 10) + "-":    -1,
		"consumed_samples=800.0-step=9-last2": 9,
	} {
		c := &Checkpoint{Step: -1}
		if nameStep(c, name); c.Step != want {
			t.Errorf("%s: %d, want %d", name, c.Step, want)
		}
	}
}

func TestLightningUnreadable(t *testing.T) {
	unknownWhenUnreadable(t, lightningMoved(), "", lightningName, lightningName)
	unknownWhenUnreadable(t, lightningSharded(t), "", lightningName, lightningName, lightningName+"/meta.pt",
		lightningName+"/.metadata")
	d := newDisk(t)
	d.play(lightningMoved()...)
	if _, err := fs.ReadLink(failing{d.fs(), "x", errors.New("x")}, lightningName); err == nil {
		t.Error("a tree without links has one")
	}
}

// TestLightningDeepSpeedStep has no step in its name: that of DeepSpeed's engine is in the state.
func TestLightningDeepSpeedStep(t *testing.T) {
	d := newDisk(t)
	d.play(
		write("0-1000.ckpt/checkpoint/mp_rank_00_model_states.pt", torchSaved(pickled("global_steps", 1000, "dp_world_size", 1, "mp_world_size", 1, "param_shapes", true), 0)),
		write("0-1000.ckpt/checkpoint/zero_pp_rank_0_mp_rank_00_optim_states.pt", anyTorch()),
		writeText("0-1000.ckpt/latest", "checkpoint"),
	)
	if c := one(t, see(t, d.fs(), Options{Level: Manifests}), "0-1000.ckpt"); c.Step != 1000 || c.StepFrom != StepFromManifest || !c.Resumable {
		t.Errorf("%+v", c)
	}
}
