package format

import (
	"slices"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

func torchtitanExport() []op {
	return []op{
		write("step-5/sharded/shard-00001-model-00001-of-00002.safetensors", anySafetensors()),
		write("step-5/model-00001-of-00002.safetensors", anySafetensors()),
		write("step-5/model-00002-of-00002.safetensors", anySafetensors()),
		writeText("step-5/model.safetensors.index.json", weightsIndex(2)),
	}
}

func TestTorchtitanPrefixes(t *testing.T) {
	playPrefixes(t, Options{}, "step-3", distributedSave(t, "step-3", "full"))
	playPrefixes(t, Options{}, "step-4", distributedSave(t, "step-4", "model"))
	playPrefixes(t, Options{}, "step-5", torchtitanExport())
}

func TestTorchtitanMutations(t *testing.T) {
	mutate(t, Options{}, "step-3", distributedSave(t, "step-3", "full"), []mutation{
		{"whole", nil, ""},
		{"metadata is gone", []op{remove("step-3/.metadata")}, problem.NoMarker},
		{"a shard is gone", []op{remove("step-3/__0_0.distcp")}, problem.MissingShard},
		{"saved over", []op{touched("step-3/__0_0.distcp")}, problem.OverwriteInProgress},
	})
	mutate(t, Options{}, "step-4", distributedSave(t, "step-4", "model"), []mutation{
		{"the model alone", nil, problem.WeightsOnly},
	})
	mutate(t, Options{}, "step-5", torchtitanExport(), []mutation{
		{"an export", nil, problem.WeightsOnly},
		{"a shard is gone", []op{remove("step-5/model-00002-of-00002.safetensors")}, problem.MissingShard},
		{"index is gone", []op{remove("step-5/model.safetensors.index.json")}, problem.NoMarker},
	})
}

func TestTorchtitanFind(t *testing.T) {
	d := newDisk(t)
	d.play(slices.Concat(distributedSave(t, "step-3", "full"), distributedSave(t, "bad-step-500", "full"),
		distributedSave(t, "step-7.bad", "full"), []op{mkdir("step-9"), writeText("step-8", "")})...)
	cs := see(t, d.fs(), Options{Level: Manifests})
	if len(cs) != 2 || cs[0].Path != "step-9" || cs[0].Complete || cs[1].Path != "step-3" ||
		cs[1].Format != "torchtitan" ||
		!cs[1].Elastic || cs[1].ModifiedFrom != ModifiedMarker {
		t.Errorf("%s", list(cs))
	}
	d = newDisk(t)
	d.play(writeText("step-3/manifest.ocdbt", "x"), mkdir("step-4"))
	found := see(t, d.fs(), Options{})
	if slices.ContainsFunc(found, func(c *Checkpoint) bool { return c.Format == "torchtitan" }) {
		t.Errorf("of another format: %s", list(found))
	}
	if cs := see(t, d.fs(), Options{Format: "torchtitan"}); len(cs) != 2 {
		t.Errorf("asked for by name: %s", list(cs))
	}
}

func TestTorchtitanUnreadable(t *testing.T) {
	unknownWhenUnreadable(t, distributedSave(t, "step-3", "full"), "", "step-3", "step-3", "step-3/.metadata",
		"step-3/__0_0.distcp")
}
