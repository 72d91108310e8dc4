package format

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

const (
	kerasWeights  = "latest.weights.h5"
	kerasMetadata = "training_metadata.json"
)

func kerasJSON(epoch int) string { return fmt.Sprintf(`{"epoch": %d, "batch": 2}`, epoch) }

// kerasSave is the order of a save of the callback. double says that there was one before, which is copied aside.
func kerasSave(epoch int, double bool) (ops []op) {
	h5 := filetest.HDF5("layers", "optimizer", "vars")
	if double {
		ops = append(ops,
			write(kerasWeights+".bkp", h5[:50]), write(kerasWeights+".bkp", h5),
			writeText(kerasMetadata+".bkp", ""), writeText(kerasMetadata+".bkp", kerasJSON(epoch-1)))
	}
	return append(ops,
		write(kerasWeights, nil), write(kerasWeights, h5[:len(h5)-3]), write(kerasWeights, h5),
		writeText(kerasMetadata, ""), writeText(kerasMetadata, kerasJSON(epoch)[:8]), writeText(kerasMetadata, kerasJSON(epoch)))
}

func TestKerasBackupPrefixes(t *testing.T) {
	playPrefixes(t, Options{}, kerasWeights, kerasSave(1, false))
	// The second save: there is one of the two at every moment.
	first, second := kerasSave(1, false), kerasSave(2, true)
	for n := range len(second) + 1 {
		d := newDisk(t)
		d.play(first...)
		d.play(second[:n]...)
		cs := see(t, d.fs(), Options{Level: Ends})
		steps := map[string]int64{}
		for _, c := range cs {
			if c.Complete {
				steps[c.Path] = c.Step
			}
		}
		latest, found := steps[kerasWeights]
		if want := n <= 4 || n == len(second); found != want || found && latest != map[bool]int64{true: 1, false: 2}[n <= 4] {
			t.Errorf("after %d operations: %v%s", n, steps, list(cs))
		}
		if backup, found := steps[kerasWeights+".bkp"]; found != (n >= 4) || found && backup != 1 {
			t.Errorf("after %d operations: %v%s", n, steps, list(cs))
		}
	}
}

func TestKerasBackupMutations(t *testing.T) {
	weights := filetest.HDF5("layers", "vars")
	mutate(t, Options{}, kerasWeights, kerasSave(3, false), []mutation{
		{"nothing", nil, ""},
		{"cut weights", []op{truncated(kerasWeights, -1)}, problem.Truncated},
		{"empty weights", []op{truncated(kerasWeights, 0)}, problem.EmptyFile},
		{"zeros after the weights", []op{appended(kerasWeights, make([]byte, 100))}, problem.SizeMismatch},
		{"zeros for weights", []op{zeroed(kerasWeights, 0, 100)}, problem.BadIndex},
		{"weights that were not closed", []op{changed(kerasWeights, func(b []byte) []byte { b[20] = 1; return b })}, problem.InProgress},
		{"no weights", []op{remove(kerasWeights)}, problem.MissingShard},
		{"new weights and the epoch before", []op{touched(kerasWeights)}, problem.OverwriteInProgress},
		{"weights without an epoch", []op{remove(kerasMetadata)}, problem.NoMarker},
		{"an empty epoch", []op{truncated(kerasMetadata, 0)}, problem.EmptyFile},
		{"a cut epoch", []op{truncated(kerasMetadata, -1)}, problem.BadJSON},
		{"no epoch in it", []op{changed(kerasMetadata, func([]byte) []byte { return []byte(`{"batch": 1}`) })}, problem.BadJSON},
		{"an epoch of -1", []op{changed(kerasMetadata, func([]byte) []byte { return []byte(kerasJSON(-1)) })}, problem.BadJSON},
		{"a large file for an epoch", []op{changed(kerasMetadata, func([]byte) []byte { return make([]byte, 1<<20) })}, problem.SizeMismatch},
		{"no optimizer", []op{changed(kerasWeights, func([]byte) []byte { return weights })}, problem.WeightsOnly},
		{"written by another program", []op{changed(kerasWeights, func([]byte) []byte { return filetest.HDF5("data") })}, ""},
	})
}

func TestKerasBackupFields(t *testing.T) {
	d := newDisk(t)
	d.play(kerasSave(3, true)...)
	d.play(rename(kerasWeights+".bkp", "_"+kerasWeights), rename(kerasMetadata+".bkp", "_"+kerasMetadata))
	cs := see(t, d.fs(), Options{Level: Manifests})
	c, before := one(t, cs, kerasWeights), one(t, cs, "_"+kerasWeights)
	if c.Step != 3 || c.StepFrom != StepFromJSON || c.Basis != BasisMarker || c.Tag != "latest.weights" || !c.Elastic ||
		c.ShardsExpected != 1 || c.ShardsFound != 1 || c.ModifiedFrom != ModifiedMarker || !c.Modified.Equal(firstSecond.Add(100*time.Second)) {
		t.Errorf("%+v", c)
	}
	if before.Step != 2 || !before.Complete {
		t.Errorf("%+v", before)
	}
	// A file of this name alone may be any program's.
	d = newDisk(t)
	d.play(writeText(kerasMetadata, `{"lr": 0.1}`))
	if cs := see(t, d.fs(), Options{Format: kerasBackup.name}); len(cs) != 0 {
		t.Error(list(cs))
	}
}

func TestKerasBackupUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(kerasSave(3, false)...)
	for _, path := range []string{kerasWeights, kerasMetadata} {
		for _, err := range []error{fs.ErrPermission, syscall.EIO} {
			c := one(t, see(t, failing{d.fs(), path, err}, Options{Level: Ends}), kerasWeights)
			if !c.Reason.Unknown() {
				t.Errorf("%s %v: %s %s", path, err, c.Reason, c.Detail)
			}
		}
	}
}

// What a .keras file is, and a .h5 file, for whoever finds them.
func TestKerasFiles(t *testing.T) {
	small := []filetest.Record{{Name: "metadata.json", Data: []byte("{}")}, {Name: "config.json", Data: []byte("{}")}}
	model := func(names ...string) []byte {
		return filetest.Zip(slices.Concat(small, []filetest.Record{{Name: "model.weights.h5", Data: filetest.HDF5(names...)}})...)
	}
	hole := model("layers", "optimizer")
	copy(hole[bytes.Index(hole, []byte("layers")):], "Layers")
	inKeras := func(l *look, c *Checkpoint, _ string) error {
		in, err := l.contentIn("model.keras")
		if in.alone {
			c.weightsOnly("weights")
		}
		return err
	}
	for _, test := range []struct {
		name  string
		check func(*look, *Checkpoint, string) error
		data  []byte
		level Level
		want  problem.Reason
	}{
		{"a model", inKeras, model("layers", "optimizer"), Everything, ""},
		{"a model with another byte", inKeras, hole, Everything, problem.HashMismatch},
		{"a model without an optimizer", inKeras, model("layers"), Manifests, problem.WeightsOnly},
		{"a model that was cut", inKeras, model("layers")[:300], Ends, problem.Truncated},
		{"a model whose saving failed", inKeras, filetest.Zip(small...), Ends, problem.ZipMissingRecords},
		{"weights, and two names", inKeras, filetest.HDF5("layers"), Ends, problem.BadZip},
		{"a whole model of Keras 2", checkHDF5, filetest.HDF5("model_weights", "optimizer_weights"), Manifests, ""},
		{"one without an optimizer", checkHDF5, filetest.HDF5("model_weights"), Manifests, problem.WeightsOnly},
		{"weights of Keras 2", checkHDF5, filetest.HDF5("dense", "top_level_model_weights"), Manifests, problem.WeightsOnly},
		{"numbers", checkHDF5, filetest.HDF5("x", "y"), Manifests, ""},
		{"at the level of names nothing is read", checkHDF5, []byte("x"), Names, ""},
		{"nor is there nothing", checkHDF5, nil, Names, problem.EmptyFile},
		{"no file", checkHDF5, []byte("x"), Ends, problem.Truncated},
	} {
		d := newDisk(t)
		d.play(write("file", test.data))
		d.play(write("model.keras", test.data))
		c := &Checkpoint{Complete: true, Resumable: true}
		if err := test.check(newLook(t.Context(), d.fs(), Options{Level: test.level}), c, "file"); err != nil {
			c.fail(problem.Of(err, problem.MissingShard))
		}
		if c.Reason != test.want || c.Resumable != (test.want == "") {
			t.Errorf("%s: %+v, want %s", test.name, c, test.want)
		}
	}
}
