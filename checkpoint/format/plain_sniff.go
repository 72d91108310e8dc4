package format

import (
	"bytes"
	"errors"
	"io/fs"
	"path"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// holdsTensors reports whether a file whose name does not say so is one that a training script may have written.
func (l *look) holdsTensors(name string) (bool, error) {
	f, err := l.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	t := titleOf(path.Base(name))
	if err != nil {
		return t.step >= 0, l.ctx.Err() // the check says what is wrong
	}
	defer f.close()
	likely := t.step >= 0 && t.family == "" || t.slot != "" && t.family == "" || t.named || checkpointName(path.Base(name))
	head := make([]byte, min(f.size, 512))
	if n, err := f.ReadAt(head, 0); n < len(head) {
		return false, err
	}
	if len(head) == 0 {
		return likely && path.Ext(name) != "", nil
	}
	_, torch := file.IsTorch(head[:min(len(head), 32)])
	switch {
	case torch:
		return true, nil
	case path.Ext(name) == ".joblib":
		return true, nil // compressed in one of many ways
	case file.IsMsgpack(head):
		return likely || path.Ext(name) == ".msgpack", nil
	case bytes.HasPrefix(head, []byte("\x89HDF")), bytes.HasPrefix(head, []byte{0x1f, 0x8b}), file.IsNpy(head):
		return true, nil
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return likely, nil
	case len(bytes.Trim(head, "\x00")) == 0:
		return likely, nil
	}
	return false, nil
}

// checkpointName reports whether a name has a word for a checkpoint in it.
func checkpointName(name string) bool {
	for _, p := range pieces(stemOf(name)) {
		if !p.number && neutralWords[p.text] {
			return true
		}
	}
	return false
}
