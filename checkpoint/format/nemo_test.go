package format

import (
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

const nemoName = "gpt--val_loss=2.50-step=100-consumed_samples=800.0"

// nemoSave puts the marker around a save.
func nemoSave(save ...op) []op {
	return slices.Concat([]op{write(nemoName+"-unfinished", nil)}, save, []op{remove(nemoName + "-unfinished")})
}

// nemoFile is one file, which a release may have written in place.
func nemoFile() []op {
	return nemoSave(write(nemoName+".ckpt", lightningFile(100)[:200]), write(nemoName+".ckpt", lightningFile(100)),
		write(nemoName+"-EMA.ckpt", lightningFile(100)))
}

func nemoRankFiles() []op {
	return nemoSave(
		write("tp_rank_00_pp_rank_000/"+nemoName+".ckpt", lightningFile(100)),
		write("tp_rank_01_pp_rank_000/"+nemoName+".ckpt", lightningFile(100)),
		write("tp_rank_00_pp_rank_001/"+nemoName+".ckpt", lightningFile(100)),
		write("tp_rank_01_pp_rank_001/"+nemoName+".ckpt", lightningFile(100)),
	)
}

// nemoDistributed is the order of NeMo 2: Megatron's parts and then the configuration.
func nemoDistributed(t testing.TB) []op {
	weights := nemoName + "/weights"
	return nemoSave(slices.Concat(
		[]op{write(weights+"/common.pt", anyTorch())},
		distributedSave(t, weights, "full"),
		[]op{writeText(weights+"/metadata.json", `{"sharded_backend": "torch_dist", "sharded_backend_version": 1}`),
			writeText(nemoName+"/context/model.yaml", "a: b")})...)
}

func TestNeMoPrefixes(t *testing.T) {
	playPrefixes(t, Options{}, nemoName+".ckpt", nemoFile())
	playPrefixes(t, Options{}, nemoName+".ckpt", nemoRankFiles())
	playPrefixes(t, Options{}, nemoName, nemoDistributed(t))
}

func TestNeMoMutations(t *testing.T) {
	mutate(t, Options{Format: "nemo"}, nemoName+".ckpt", nemoFile(), []mutation{
		{"whole", nil, ""},
		{"marked", []op{write(nemoName+"-unfinished", nil)}, problem.UnfinishedMarker},
		{"another one is marked", []op{write("gpt-last-unfinished", nil)}, ""},
		{"cut", []op{truncated(nemoName+".ckpt", -1)}, problem.Truncated},
		{"averaged weights are cut", []op{truncated(nemoName+"-EMA.ckpt", -1)}, problem.Truncated},
		{"weights alone", []op{write(nemoName+".ckpt", lightningWeights(100))}, problem.WeightsOnly},
	})
	mutate(t, Options{}, nemoName+".ckpt", nemoRankFiles(), []mutation{
		{"ranks", nil, ""},
		{"marked", []op{write(nemoName+"-unfinished", nil)}, problem.UnfinishedMarker},
		{"a file is gone", []op{remove("tp_rank_01_pp_rank_000/" + nemoName + ".ckpt")}, problem.MissingShard},
		{"a rank is gone", []op{remove("tp_rank_01_pp_rank_000")}, problem.MissingShard},
		{"a file is empty", []op{truncated("tp_rank_01_pp_rank_001/"+nemoName+".ckpt", 0)}, problem.EmptyFile},
	})
	const weights = nemoName + "/weights/"
	mutate(t, Options{}, nemoName, nemoDistributed(t), []mutation{
		{"distributed", nil, ""},
		{"marked", []op{write(nemoName+"-unfinished", nil)}, problem.UnfinishedMarker},
		{"config is gone", []op{remove(weights + "metadata.json")}, problem.NoMarker},
		{"config and common part are gone", []op{remove(weights + "metadata.json"), remove(weights + "common.pt")},
			problem.NoMarker},
		{"config is empty", []op{writeText(weights+"metadata.json", "")}, problem.EmptyFile},
		{"config is broken", []op{writeText(weights+"metadata.json", "{")}, problem.BadJSON},
		{"metadata is gone", []op{remove(weights + ".metadata")}, problem.NoMarker},
		{"a shard is gone", []op{remove(weights + "__0_0.distcp")}, problem.MissingShard},
		{"common part is cut", []op{truncated(weights+"common.pt", 10)}, problem.Truncated},
		{"common part is in the shards", []op{remove(weights + "common.pt")}, ""},
		{"saved over", []op{touched(weights + "__0_0.distcp")}, problem.OverwriteInProgress},
	})
}

func TestNeMoFind(t *testing.T) {
	d := newDisk(t)
	d.play(nemoRankFiles()...)
	d.play(
		write("tp_rank_00_pp_rank_000/gpt--step=200-last.ckpt", lightningFile(200)),
		write("gpt--step=300-last-unfinished", nil),
		write("gpt.nemo", nil),
	)
	cs := see(t, d.fs(), Options{Level: Manifests})
	if len(cs) != 3 {
		t.Fatalf("%s", list(cs))
	}
	if c := one(t, cs, nemoName+".ckpt"); !c.Complete || c.Step != 100 || c.ShardsExpected != 4 || c.ShardsFound != 4 ||
		c.Basis != BasisGrid || c.Elastic {
		t.Errorf("%+v", c)
	}
	if c := one(t, cs, "gpt--step=200-last.ckpt"); c.Reason != problem.MissingShard {
		t.Errorf("%+v", c)
	}
	if c := one(t, cs, "gpt--step=300-last"); c.Reason != problem.UnfinishedMarker || c.Step != 300 {
		t.Errorf("%+v", c)
	}
	// Without what NeMo alone writes, it is Lightning's.
	d = newDisk(t)
	d.play(write(nemoName+".ckpt", lightningFile(100)))
	if cs := see(t, d.fs(), Options{}); len(cs) != 1 || cs[0].Format != "lightning" {
		t.Errorf("%s", list(cs))
	}
	d = newDisk(t)
	d.play(nemoDistributed(t)...)
	if cs := see(t, d.fs(), Options{Level: Manifests}); len(cs) != 1 || !strings.HasPrefix(cs[0].Format, "nemo+") ||
		!cs[0].Elastic || cs[0].Basis == "" || cs[0].Modified.IsZero() {
		t.Errorf("%s", list(cs))
	}
}

func TestNeMoSeveralLast(t *testing.T) {
	d := newDisk(t)
	d.play(
		write("gpt--step=100-last.ckpt", lightningFile(100)),
		write("gpt--step=100-last-EMA.ckpt", lightningFile(100)),
		write("gpt.nemo", nil),
	)
	if c := one(t, see(t, d.fs(), Options{}), "gpt--step=100-last.ckpt"); !c.Complete || c.Detail != "" {
		t.Errorf("%+v", c)
	}
	d.play(write("gpt--step=200-last.ckpt", lightningFile(200)), write("gpt--step=150.ckpt", lightningFile(150)))
	cs := see(t, d.fs(), Options{})
	if c := one(t, cs, "gpt--step=200-last.ckpt"); !c.Complete || !strings.Contains(c.Detail, "several names") {
		t.Errorf("%+v", c)
	}
	if c := one(t, cs, "gpt--step=150.ckpt"); c.Detail != "" {
		t.Errorf("%+v", c)
	}
	// NeMo removes what is not finished before it looks.
	d.play(write("gpt--step=200-last-unfinished", nil))
	if c := one(t, see(t, d.fs(), Options{}), "gpt--step=100-last.ckpt"); c.Detail != "" {
		t.Errorf("%+v", c)
	}
}

func TestNeMoUnreadable(t *testing.T) {
	unknownWhenUnreadable(t, nemoRankFiles(), "nemo", nemoName+".ckpt", "tp_rank_01_pp_rank_001",
		"tp_rank_01_pp_rank_001/"+nemoName+".ckpt")
	unknownWhenUnreadable(t, nemoDistributed(t), "nemo", nemoName, nemoName, nemoName+"/weights",
		nemoName+"/weights/metadata.json", nemoName+"/weights/.metadata", nemoName+"/weights/common.pt")
}

func TestNeMoRank(t *testing.T) {
	for name, want := range map[string]bool{
		"mp_rank_00": true, "tp_rank_01_pp_rank_002": true, "tp_rank_01": false, "mp_rank_": false, "mp_rank_x": false,
		"pp_rank_001": false, "mp_rank_999999999999": false,
	} {
		if _, _, ok := nemoRank(name); ok != want {
			t.Errorf("%s: %v", name, ok)
		}
	}
}
