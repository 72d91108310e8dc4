package format

import (
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

const savedModelPB = "\x08\x01\x12\x05graph"

// savedModelSave is the order of tf.saved_model.save.
func savedModelSave(dir string) []op {
	index, data := filetest.Bundle([]string{"first"})
	v := dir + "/variables/variables"
	part := v + "_temp/part-00000-of-00001"
	return []op{
		mkdir(dir + "/variables"),
		write(part+".data-00000-of-00001.tempstate1", data[0]),
		rename(part+".data-00000-of-00001.tempstate1", part+".data-00000-of-00001"),
		write(part+".index", index),
		rename(part+".data-00000-of-00001", v+".data-00000-of-00001"),
		write(v+".index", index[:30]),
		write(v+".index", index),
		remove(v + "_temp"),
		mkdir(dir + "/assets"),
		writeText(dir+"/saved_model.pb.tmp6c11", savedModelPB),
		rename(dir+"/saved_model.pb.tmp6c11", dir+"/saved_model.pb"),
		writeText(dir+"/fingerprint.pb.tmp7e70", "f"),
		rename(dir+"/fingerprint.pb.tmp7e70", dir+"/fingerprint.pb"),
	}
}

func TestSavedModelPrefixes(t *testing.T) {
	save := savedModelSave("3")
	playPrefixes(t, Options{}, "3", save, len(save)-2, len(save)-1) // the fingerprint is no part of the model
	// The root itself is one.
	save = savedModelSave(".")
	playPrefixes(t, Options{}, ".", save, len(save)-2, len(save)-1)
}

func TestSavedModelMutations(t *testing.T) {
	mutate(t, Options{}, "3", savedModelSave("3"), []mutation{
		{"nothing", nil, problem.WeightsOnly},
		{"of Keras 2, with the optimizer", []op{writeText("3/keras_metadata.pb", "k")}, ""},
		{"no graph", []op{remove("3/saved_model.pb")}, problem.NoMarker},
		{"an empty graph", []op{truncated("3/saved_model.pb", 0)}, problem.EmptyFile},
		{"a graph without its last byte", []op{truncated("3/saved_model.pb", -1)}, problem.Truncated},
		{"zeros after the graph", []op{appended("3/saved_model.pb", make([]byte, 9))}, problem.BadIndex},
		{"a graph as text", []op{rename("3/saved_model.pb", "3/saved_model.pbtxt")}, problem.WeightsOnly},
		{"no index", []op{remove("3/variables/variables.index")}, problem.NoMarker},
		{"no data", []op{remove("3/variables/variables.data-00000-of-00001")}, problem.MissingShard},
		{"cut data", []op{truncated("3/variables/variables.data-00000-of-00001", -1)}, problem.Truncated},
		{"no variables in the model", []op{remove("3/variables"), mkdir("3/variables")}, problem.WeightsOnly},
		{"no directory of variables", []op{remove("3/variables")}, problem.WeightsOnly},
		{"variables of the next save", []op{touched("3/variables/variables.index")}, problem.OverwriteInProgress},
	})
}

func TestSavedModelFind(t *testing.T) {
	for _, test := range []struct {
		name string
		ops  []op
		want []string
	}{
		{"versions", slices.Concat(savedModelSave("9"), savedModelSave("10"), savedModelSave("11")[:5]),
			[]string{"11 11 in_progress", "10 10 weights_only", "9 9 weights_only"}},
		{"an export that is to be renamed", slices.Concat(savedModelSave("9"), savedModelSave("temp-10")),
			[]string{"temp-10 10 in_progress", "9 9 weights_only"}},
		{"names of a person", slices.Concat(savedModelSave("model-4"), savedModelSave("best"), []op{mkdir("logs-7")}),
			[]string{"model-4 4 weights_only", "best -1 weights_only"}},
		{"directories of another program", []op{mkdir("1"), mkdir("2/variables"), writeText("3/x", "")}, nil},
	} {
		if got := told(t, test.ops); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestSavedModelUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(savedModelSave("3")...)
	d.play(savedModelSave("model")...)
	for _, path := range []string{"3/saved_model.pb", "3/variables/variables.index", "3/variables/variables.data-00000-of-00001"} {
		c := one(t, see(t, failing{d.fs(), path, syscall.EIO}, Options{Level: Manifests}), "3")
		if !c.Reason.Unknown() {
			t.Errorf("%s: %s %s", path, c.Reason, c.Detail)
		}
	}
	if _, err := Find(t.Context(), failing{d.fs(), "3", fs.ErrPermission}, Options{Format: savedModel.name}); err == nil {
		t.Error("a version that cannot be read was passed over")
	}
	d = newDisk(t)
	d.play(mkdir("lost+found"))
	if cs := see(t, failing{d.fs(), "lost+found", fs.ErrPermission}, Options{Format: savedModel.name}); len(cs) != 0 {
		t.Error(list(cs))
	}
}
