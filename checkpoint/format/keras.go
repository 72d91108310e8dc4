package format

import (
	"io"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// kerasNames are the groups in the weights of a .keras file, as far as the level looks.
func (l *look) kerasNames(r io.ReaderAt, size int64) (names []string, err error) {
	z, err := file.OpenZip(r, size)
	if err != nil {
		return nil, err
	}
	if l.Level >= Manifests || z.DirectorySize() <= maxEndsDirectory {
		names, err = file.Keras(r, size)
	}
	if err == nil && l.Level >= Everything {
		err = file.VerifyZip(z, l.progress)
	}
	return names, err
}

// hdf5Names are those in the root of a .h5 file, where the level looks at them. HDF5 has no checksums of its data unless
// asked for.
func (l *look) hdf5Names(r io.ReaderAt, size int64) (names []string, err error) {
	h, err := file.ReadHDF5(r, size, l.Level >= Manifests)
	if err != nil || l.Level < Manifests {
		return nil, err
	}
	if names, err = h.KerasNames(r); err != nil {
		return nil, err
	}
	return names, file.ZeroHalf(r, size)
}

// checkHDF5 looks at a .h5 file and counts it into the checkpoint.
func checkHDF5(l *look, c *Checkpoint, path string) error {
	if _, err := l.parts(c, []string{path}, false); err != nil || l.Level < Ends {
		return err
	}
	var names []string
	err := l.inside(path, func(r io.ReaderAt, size int64) (err error) {
		names, err = l.hdf5Names(r, size)
		return err
	})
	if err == nil {
		c.kerasResumable(path, names)
	}
	return err
}

// kerasResumable takes back that a model can be resumed from when the names in the root group of its HDF5 file are
// those that Keras writes, and no optimizer is among them. What is not known to be Keras's stays as it is.
func (c *Checkpoint) kerasResumable(path string, names []string) {
	keras := slices.ContainsFunc(names, func(n string) bool {
		switch n {
		// Keras 3, its beginnings in Keras 2.12, whole models and weights of Keras 2.
		case "layers", "vars", "_layer_checkpoint_dependencies", "model_weights", "top_level_model_weights":
			return true
		}
		return false
	})
	if keras && !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "optimizer") }) {
		c.weightsOnly("%s has no state of an optimizer", path)
	}
}
