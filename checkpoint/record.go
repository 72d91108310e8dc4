package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// RecordFile is the name of the file in which a job's record is kept beside its checkpoints. What is in it is not this
// package's business.
const RecordFile = ".gangrun-job.json"

// maxRecord bounds a record, in bytes: the store takes no larger one either.
const maxRecord = 1 << 20

// ReadRecord reads the record from a directory, nil when there is none.
func ReadRecord(dir string) ([]byte, error) {
	f, err := os.Open(filepath.Join(dir, RecordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(data) > maxRecord {
		err = fmt.Errorf("%s: larger than %d bytes", f.Name(), maxRecord)
	}
	return data, err
}

// WriteRecord puts the record into a directory, atomically; no bytes take it away. Where there is no such
// directory yet nothing is done: the training makes it when it saves first.
func WriteRecord(dir string, data []byte) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	name := filepath.Join(dir, RecordFile)
	if len(data) > 0 {
		return replaceFile(name, data)
	}
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
