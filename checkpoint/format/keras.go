package format

import (
	"io"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// checkKeras looks at a .keras file and counts it into the checkpoint.
func checkKeras(l *look, c *Checkpoint, path string) error {
	if _, err := l.parts(c, []string{path}, false); err != nil || l.Level < Ends {
		return err
	}
	var names []string
	err := l.inside(path, func(r io.ReaderAt, size int64) (err error) {
		z, err := file.OpenZip(r, size)
		if err != nil {
			return err
		}
		if l.Level >= Manifests || z.DirectorySize() <= maxEndsDirectory {
			names, err = file.Keras(r, size)
		}
		if err == nil && l.Level >= Everything {
			err = file.VerifyZip(z, l.progress)
		}
		return err
	})
	if err == nil {
		c.kerasResumable(path, names)
	}
	return err
}

// checkHDF5 looks at a .h5 file and counts it into the checkpoint. HDF5 has no checksums of its data unless asked for.
func checkHDF5(l *look, c *Checkpoint, path string) error {
	if _, err := l.parts(c, []string{path}, false); err != nil || l.Level < Ends {
		return err
	}
	var names []string
	err := l.inside(path, func(r io.ReaderAt, size int64) error {
		h, err := file.ReadHDF5(r, size, l.Level >= Manifests)
		if err == nil && l.Level >= Manifests {
			if names, err = h.KerasNames(r); err == nil {
				err = file.ZeroHalf(r, size)
			}
		}
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
