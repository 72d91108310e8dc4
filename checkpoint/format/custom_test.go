package format

import (
	"errors"
	"regexp"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func customRule(glob, marker string) Options {
	return Options{Rule: &Rule{Glob: glob, Step: regexp.MustCompile(`s(\d+)`), Marker: marker}}
}

func TestCustomPrefixes(t *testing.T) {
	state := filetest.Torch([]byte("state"))
	t.Run("directory with a marker", func(t *testing.T) {
		playPrefixes(t, customRule("s*", "DONE"), "s100", []op{
			mkdir("s100"), write("s100/a.pt", state), write("s100/deep/b.pt", state), writeText("s100/DONE", ""),
		})
	})
	t.Run("file with a marker", func(t *testing.T) {
		playPrefixes(t, customRule("s*", ".done"), "s100.pt", []op{write("s100.pt", state), writeText("s100.pt.done", "")})
	})
	t.Run("file without a marker", func(t *testing.T) {
		playPrefixes(t, customRule("s*", ""), "s100.pt", []op{
			write("s100.pt", nil), write("s100.pt", state[:100]), write("s100.pt", state),
		})
	})
	t.Run("directory below", func(t *testing.T) {
		playPrefixes(t, customRule("run?/s*", "DONE"), "run1/s100", []op{
			mkdir("run1"), write("run1/s100/a.bin", []byte("x")), writeText("run1/s100/DONE", "x"),
		})
	})
	t.Run("directory without a marker", func(t *testing.T) {
		// Nobody can tell how many files there will be.
		playPrefixes(t, customRule("s*", ""), "s100", []op{
			mkdir("s100"), write("s100/a.pt", state), write("s100/b.safetensors", filetest.Safetensors(4)),
		}, 2)
	})
}

func TestCustomMutations(t *testing.T) {
	state := filetest.Torch([]byte("state"))
	mutate(t, customRule("s*", "DONE"), "s100", []op{write("s100/a.pt", state), writeText("s100/DONE", "")}, []mutation{
		{"whole", nil, ""},
		{"torn behind the marker", []op{truncated("s100/a.pt", -1)}, problem.Truncated},
		{"saved again", []op{touched("s100/a.pt")}, problem.OverwriteInProgress},
		{"nothing but the marker", []op{remove("s100/a.pt")}, problem.MissingShard},
		{"an empty file", []op{truncated("s100/a.pt", 0)}, problem.EmptyFile},
		{"nothing but empty files", []op{remove("s100/a.pt"), writeText("s100/a.bin", ""), touched("s100/DONE")},
			problem.EmptyFile},
		{"no marker", []op{remove("s100/DONE")}, problem.NoMarker},
		{"an empty file more", []op{writeText("s100/a.log", ""), touched("s100/DONE")}, ""},
	})
	mutate(t, customRule("*", ""), "s100.tmp", []op{write("s100.tmp", state)}, []mutation{
		{"temporary", nil, problem.InProgress},
	})
}

func TestCustomFields(t *testing.T) {
	d := newDisk(t)
	d.play(write("s100.pt", filetest.Torch()), write("s200.bin", []byte("x")), write("other", nil),
		write("snone", []byte("x")), mkdir("quarantine"), megatronTrack("100"), mkdir("iter_0000100"))
	cs := see(t, d.fs(), func() Options { o := customRule("s*", ""); o.Level = Manifests; return o }())
	for path, want := range map[string]struct {
		step  int64
		basis Basis
	}{"s100.pt": {100, BasisStructure}, "s200.bin": {200, BasisHeuristic}, "snone": {-1, BasisHeuristic}} {
		if c := one(t, cs, path); c.Step != want.step || c.Basis != want.basis || !c.Complete || c.Format != "custom" {
			t.Errorf("%+v", c)
		}
	}
	if len(cs) != 3 || cs[0].Step != 200 {
		t.Error(list(cs))
	}
}

func TestCustomUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(write("s100/a.pt", filetest.Torch()), writeText("s100/DONE", ""))
	for _, path := range []string{"s100", "s100/a.pt", "s100/DONE"} {
		o := customRule("s*", "DONE")
		o.Level = Manifests
		c := one(t, see(t, failing{d.fs(), path, errors.New("i/o error")}, o), "s100")
		if c.Complete || !c.Reason.Unknown() {
			t.Errorf("%s: %+v", path, c)
		}
	}
}

func TestRuleValid(t *testing.T) {
	for _, test := range []struct {
		rule  Rule
		valid bool
	}{
		{Rule{Glob: "step_*"}, true},
		{Rule{Glob: "run*/step_*", Step: regexp.MustCompile(`_(\d+)`), Marker: "meta/DONE"}, true},
		{Rule{}, false},
		{Rule{Glob: "a/b/c"}, false},
		{Rule{Glob: "["}, false},
		{Rule{Glob: "../x"}, false},
		{Rule{Glob: "/x"}, false},
		{Rule{Glob: "x", Step: regexp.MustCompile(`\d+`)}, false},
		{Rule{Glob: "x", Marker: "../DONE"}, false},
	} {
		if err := test.rule.Valid(); (err == nil) != test.valid {
			t.Errorf("%+v: %v", test.rule, err)
		}
		_, err := Find(t.Context(), newDisk(t).fs(), Options{Rule: &test.rule})
		wrong, ok := errors.AsType[*problem.Error](err)
		if (err == nil) != test.valid || ok && wrong.Reason != problem.UnknownFormat {
			t.Errorf("%+v: %v", test.rule, err)
		}
	}
}
