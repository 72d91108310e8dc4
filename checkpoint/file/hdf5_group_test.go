package file

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// TestUntrainedKeras has the groups of Keras's weights, as h5py 3 has written them: an optimizer whose count is 0, and one
// without any state but a count of 7.
func TestUntrainedKeras(t *testing.T) {
	for name, trained := range map[string]bool{"keras-untrained.h5": false, "keras-sgd.h5": true} {
		data, err := os.ReadFile("testdata/hdf5/" + name)
		if err != nil {
			t.Fatal(err)
		}
		names := func(data []byte) []string {
			r := bytes.NewReader(data)
			h, err := ReadHDF5(r, r.Size(), true)
			if err != nil {
				t.Fatal(err)
			}
			names, _ := h.KerasNames(r)
			return names
		}
		if got := slices.Contains(names(data), "optimizer"); got != trained {
			t.Errorf("%s: an optimizer: %v", name, got)
		}
		for i := range data { // nothing in it is trusted
			if i < 100 {
				continue
			}
			broken := bytes.Clone(data)
			broken[i] ^= 0xff
			names(broken)
		}
	}
}
