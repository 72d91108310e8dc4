package format

import (
	"slices"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

func composerFile() []byte {
	return torchSaved(pickled("state", []any{"model", []any{"weight", pickledTensor(0)}, "optimizers", 1,
		"run_name", "awesome-run"}, "rng", nil), 1)
}

// composerSave is the order of the first rank, which writes in place.
func composerSave() []op {
	data := composerFile()
	return []op{
		write("ep1-ba42-rank0.pt", nil),
		write("ep1-ba42-rank0.pt", data[:len(data)-1]),
		write("ep1-ba42-rank0.pt", data),
	}
}

// composerTar is the smallest tar file: a header, a block of data and the end.
func composerTar() []byte {
	b := make([]byte, 4*512)
	copy(b, "composer_states.pt")
	b[512] = 1
	return b
}

func composerRankTars(tag string) []op {
	var save []op
	for _, rank := range []string{"1", "0", "2"} {
		save = append(save, write(tag+"-rank"+rank+".pt.tar", composerTar()))
	}
	return save
}

func TestComposerPrefixes(t *testing.T) {
	playPrefixes(t, Options{}, "ep1-ba42-rank0.pt", composerSave())
	// Of the first save of all, a missing last rank cannot be told: 2.
	playPrefixes(t, Options{}, "ep1-ba42-rank0.pt.tar", composerRankTars("ep1-ba42"), 2)
	playPrefixes(t, Options{}, "ep2-ba84-rank0.pt.tar", composerRankTars("ep2-ba84"), 2)
	playPrefixes(t, Options{}, "ep1-ba42", distributedSave(t, "ep1-ba42", "composer"))
	// Of the next one it can.
	d := newDisk(t)
	d.play(composerRankTars("ep1-ba42")...)
	d.play(composerRankTars("ep2-ba84")[:2]...)
	if c := one(t, see(t, d.fs(), Options{Level: Names}), "ep2-ba84-rank0.pt.tar"); c.Reason != problem.MissingRankState ||
		c.ShardsExpected != -1 {
		t.Errorf("%+v", c)
	}
}

func TestComposerMutations(t *testing.T) {
	const name = "ep1-ba42-rank0.pt"
	mutate(t, Options{}, name, composerSave(), []mutation{
		{"whole", nil, ""},
		{"cut", []op{truncated(name, -1)}, problem.Truncated},
		{"empty", []op{truncated(name, 0)}, problem.EmptyFile},
		{"interrupted", []op{write(name, torchInterrupted())}, problem.ZipMissingRecords},
		{"weights alone", []op{write(name, torchSaved(pickled("state", []any{"model", pickledTensor(0)}), 1))},
			problem.WeightsOnly},
		{"latest leads elsewhere", []op{symlink("ep0-ba1-rank0.pt", "latest-rank0.pt")}, ""},
		{"latest of a store", []op{writeText("latest-rank0.pt.symlink", "run/checkpoints/ep9-ba99-rank0.pt")}, ""},
	})
	mutate(t, Options{}, "ep1-ba42-rank0.pt.tar", composerRankTars("ep1-ba42"), []mutation{
		{"whole", nil, ""},
		{"a rank is missing", []op{remove("ep1-ba42-rank1.pt.tar")}, problem.MissingRankState},
		{"first rank is missing", []op{remove("ep1-ba42-rank0.pt.tar")}, problem.MissingRankState},
		{"a rank is empty", []op{truncated("ep1-ba42-rank1.pt.tar", 0)}, problem.EmptyFile},
		{"a rank is cut", []op{truncated("ep1-ba42-rank1.pt.tar", -100)}, problem.Truncated},
		{"a rank is cut at a block", []op{truncated("ep1-ba42-rank1.pt.tar", 1024)}, problem.Truncated},
	})
	mutate(t, Options{}, "ep1-ba42", distributedSave(t, "ep1-ba42", "composer"), []mutation{
		{"sharded", nil, ""},
		{"a shard is gone", []op{remove("ep1-ba42/__0_0.distcp")}, problem.MissingShard},
	})
	mutate(t, Options{}, "ep1-ba42", distributedSave(t, "ep1-ba42", "model"), []mutation{
		{"sharded weights", nil, problem.WeightsOnly},
		{"without metadata", []op{remove("ep1-ba42/.metadata")}, problem.NoMarker},
	})
}

func TestComposerFind(t *testing.T) {
	d := newDisk(t)
	d.play(composerSave()...)
	d.play(slices.Concat(distributedSave(t, "ep2-ba84", "composer"), []op{
		symlink("ep1-ba42-rank0.pt", "latest-rank0.pt"), symlink("ep2-ba84", "latest-rank1.pt"),
		writeText("ep3-ba126-rank0.pt.symlink", "x"), writeText("ep4-ba168", "a file"), mkdir("ep5-ba1-rank0.pt"),
	})...)
	cs := see(t, d.fs(), Options{Level: Manifests})
	if len(cs) != 2 {
		t.Fatalf("%s", list(cs))
	}
	if c := one(t, cs, "ep1-ba42-rank0.pt"); c.Step != 42 || c.RunID != "awesome-run" || c.Tag != "ep1-ba42" ||
		c.Format != "composer" || !c.Elastic || c.ShardsExpected != 1 {
		t.Errorf("%+v", c)
	}
	if c := one(t, cs, "ep2-ba84"); c.Step != 84 || c.Format != "composer+dcp" || !c.Elastic {
		t.Errorf("%+v", c)
	}
}

func TestComposerName(t *testing.T) {
	for name, want := range map[string]bool{
		"ep1-ba42": true, "ep1-ba42-rank0.pt": true, "ep1-ba42-rank0": true, "ep1-ba42-rank12.tar.gz": true,
		"ep1-ba42-rank.pt": false, "ep1-ba-rank0.pt": false, "epx-ba1": false, "ep1": false, "ep1-ba42-rank0x.pt": false,
		"ep1-ba42-rank0.pt.symlink": false, "latest-rank0.pt": false, "ep1-ba42-rank99999999.pt": false,
	} {
		if _, _, _, _, ok := composerName(name); ok != want {
			t.Errorf("%s: %v", name, ok)
		}
	}
}

func TestComposerUnreadable(t *testing.T) {
	unknownWhenUnreadable(t, composerRankTars("ep1-ba42"), "", "ep1-ba42-rank0.pt.tar", "ep1-ba42-rank2.pt.tar")
	unknownWhenUnreadable(t, composerSave(), "", "ep1-ba42-rank0.pt", "ep1-ba42-rank0.pt")
}

func TestSavedText(t *testing.T) {
	for _, test := range []struct {
		data string
		want string
	}{
		{"X\x01\x00\x00\x00kq\x00X\x03\x00\x00\x00abc", "abc"},
		{"\x8c\x01k\x94\x8c\x03abc", "abc"},
		{"\x8c\x01k\x94\x8c\x03ab", ""},
		{"\x8c\x01k\x94X\xff\xff\xff\xffab", ""},
		{"\x8c\x01kK\x01", ""},
		{"", ""},
	} {
		if got := saved(test.data).text("k"); got != test.want {
			t.Errorf("%q: %q, want %q", test.data, got, test.want)
		}
	}
}
