package format

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// maxJSON bounds a file of JSON that is read as a whole, maxUnpacked what is unpacked of compressed files in one look at
// all checkpoints (a few seconds for each GiB), and maxKept what is held in memory of each of the two ends of one of
// them, of one file at a time.
const (
	maxJSON = 16 << 20
	maxKept = 64 << 20

	maxUnpacked int64 = 4 << 30
)

// unpacked looks at a file that gzip has compressed, which has checksums of its own. Of one from which more comes than is
// unpacked it stays open whether it is whole, and that is said.
func (l *look) unpacked(name string, r io.ReaderAt, size int64) (in content, err error) {
	in = content{step: -1}
	if l.Level < Manifests {
		return in, nil
	}
	l.unpacking.Lock()
	defer l.unpacking.Unlock()
	u, err := file.Gunzip(r, size, maxKept, func(n int) error {
		if l.Unpacked.Add(int64(n)) > maxUnpacked {
			return file.ErrTooLarge
		}
		return l.ctx.Err()
	})
	if errors.Is(err, file.ErrTooLarge) {
		in.doubt = fmt.Sprintf("%s is compressed, and was not unpacked to its end: of the newest checkpoints no more than %d MiB are. "+
			"Whether it is whole is unknown", name, maxUnpacked>>20)
		return in, nil
	}
	if err != nil {
		return in, err
	}
	if ext := path.Ext(name); ext != ".joblib" {
		name = strings.TrimSuffix(name, ext)
	}
	in, err = l.contentOfFile(name, u, u.Size)
	if file.NotKept(err) {
		return content{step: -1}, nil // whole, by its checksums
	}
	return in, err
}
