package format

import (
	"testing"

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

func TestPlainMutations(t *testing.T) {
	mutate(t, Options{}, "model_100.pt", []op{write("model_100.pt", anyTorch())}, []mutation{
		{"whole", nil, ""},
		{"cut", []op{truncated("model_100.pt", -1)}, problem.Truncated},
		{"empty", []op{truncated("model_100.pt", 0)}, problem.EmptyFile},
		{"interrupted", []op{write("model_100.pt", torchInterrupted())}, problem.ZipMissingRecords},
	})
	mutate(t, Options{}, "policy_7.safetensors", []op{write("policy_7.safetensors", anySafetensors())}, []mutation{
		{"whole", nil, ""},
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
		write("ckpt_9.pt", anyTorch()), write("ckpt_10.pt", anyTorch()), write("model.pth", anyTorch()),
		write("net-3.safetensors", anySafetensors()),
		write("optimizer.pt", anyTorch()), write("scheduler.pt", anyTorch()), write("rng_state_0.pth", anyTorch()),
		write("training_args.bin", anyTorch()), write(".hidden.pt", anyTorch()), writeText("notes.txt", ""),
		mkdir("dir_5.pt"),
		write("ckpt_11.pt.tmp", nil),
	)
	cs := see(t, d.fs(), Options{Level: Manifests})
	want := []struct {
		path string
		step int64
	}{{"ckpt_10.pt", 10}, {"ckpt_9.pt", 9}, {"net-3.safetensors", 3}, {"model.pth", -1}}
	if len(cs) != len(want) {
		t.Fatalf("%s", list(cs))
	}
	for i, w := range want {
		if c := cs[i]; c.Path != w.path || c.Step != w.step || !c.Complete || !c.Resumable || c.Basis != BasisStructure ||
			c.Format != "plain" || (c.StepFrom == StepFromName) != (w.step >= 0) || c.Size == 0 {
			t.Errorf("%d: %+v", i, c)
		}
	}
}

func TestPlainNumber(t *testing.T) {
	for name, want := range map[string]int64{
		"model_1000":             1000,
		"model-epoch2-s30":       30,
		"weights.10-0.25":        10,
		"model.10":               10,
		"10":                     10,
		"10.5":                   -1,
		"model":                  -1,
		"":                       -1,
		"model_v2":               2,
		"a7-1.2.3":               7,
		"99999999999999999999":   -1,
		"5-99999999999999999999": 5,
	} {
		n, ok := plainNumber(name)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%s: %d, want %d", name, n, want)
		}
	}
}

func FuzzPlainNumber(f *testing.F) {
	f.Add("weights.10-0.25")
	f.Fuzz(func(t *testing.T, name string) {
		if n, ok := plainNumber(name); ok && n < 0 {
			t.Errorf("%q: %d", name, n)
		}
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
