package file

import (
	"bytes"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func TestKerasZip(t *testing.T) {
	weights := filetest.HDF5("layers", "optimizer", "vars")
	three := []filetest.Record{
		{Name: "metadata.json", Data: []byte("{}")}, {Name: "config.json", Data: []byte("{}")},
		{Name: "model.weights.h5", Data: weights},
	}
	broken := bytes.Clone(weights)
	clear(broken[:8])
	for _, test := range []struct {
		name  string
		zip   []byte
		names int
		want  problem.Reason
	}{
		{"whole", filetest.Zip(three...), 3, ""},
		{"in another order", filetest.Zip(three[2], three[0], three[1]), 3, ""},
		{"weights for numpy", filetest.Zip(three[0], three[1], filetest.Record{Name: "model.weights.npz"}), 0, ""},
		{"no weights", filetest.Zip(three[:2]...), 0, problem.ZipMissingRecords},
		{"no config", filetest.Zip(three[0], three[2]), 0, problem.ZipMissingRecords},
		{"a hole in the weights", filetest.Zip(three[0], three[1], filetest.Record{Name: "model.weights.h5", Data: broken}), 0, problem.BadIndex},
		{"weights cut before they were packed", filetest.Zip(three[0], three[1],
			filetest.Record{Name: "model.weights.h5", Data: weights[:len(weights)-1]}), 0, problem.Truncated},
		{"cut", filetest.Zip(three...)[:200], 0, problem.Truncated},
	} {
		names, err := Keras(strict{t, test.zip}, int64(len(test.zip)))
		if got := reasonOf(t, err); got != test.want || len(names) != test.names {
			t.Errorf("%s: %q, %v, want %s", test.name, names, err, test.want)
		}
	}
}
