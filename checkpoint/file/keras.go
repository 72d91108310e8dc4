package file

import (
	"errors"
	"io"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Keras looks at a .keras file, a zip of two small files and of the weights, which come last: keras/src/saving/
// saving_lib.py closes it without them when saving fails. It returns the names in the root group of the weights, none
// when they are not known.
func Keras(r io.ReaderAt, size int64) ([]string, error) {
	z, err := OpenZip(r, size)
	if err != nil {
		return nil, err
	}
	// The weights are a file for numpy when the model was saved so, and then opaque.
	missing := []string{"metadata.json", "config.json", "model.weights."}
	var weights *Entry
	err = z.Each(func(e Entry) error {
		for i, prefix := range missing {
			if strings.HasPrefix(e.Name, prefix) {
				missing = append(missing[:i], missing[i+1:]...)
				break
			}
		}
		if e.Name == "model.weights.h5" && e.Method == 0 {
			weights = &e
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, problem.New(problem.ZipMissingRecords, "it has no %s: saving it was interrupted", strings.TrimSuffix(missing[0], "."))
	}
	if weights == nil {
		return nil, nil
	}
	from, end, err := z.data(*weights)
	if err != nil {
		return nil, err
	}
	section := io.NewSectionReader(r, from, end-from)
	h, err := ReadHDF5(section, section.Size(), true)
	var names []string
	if err == nil {
		names, err = h.KerasNames(section)
	}
	if e, ok := errors.AsType[*problem.Error](err); ok {
		err = problem.New(e.Reason, "%s: %s", weights.Name, e.Detail)
	}
	return names, err
}
