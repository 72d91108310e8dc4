package format

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

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
	form, torch := file.IsTorch(head[:min(len(head), 32)])
	ext := strings.ToLower(path.Ext(name))
	if base := path.Base(name); !slices.Contains(weakEndings, ext) && !strings.Contains(base, "=") && !likelyOwn(base, ext, t) && ext != "" && ownEnding(base, ext) {
		return bytes.HasPrefix(head, []byte("PK\x03\x04")) && bytes.Contains(head, []byte("/data.pkl")) ||
			torch && (form == file.TorchLegacy || form == file.PlainPickle && f.size <= maxSniff && isState(f, f.size, false)), nil
	}
	switch {
	case ext == ".npy": // an array is data, but for a dict; some programs give the name to what torch.save wrote
		if from, ok := file.NpyObjects(f, f.size); ok && f.size <= maxSniff {
			return isState(io.NewSectionReader(f, from, f.size-from), f.size-from, false), nil
		} else if ok {
			return likelihood(path.Base(name)) > 0, nil
		}
		return torch && (form != file.PlainPickle || f.size > maxSniff || isState(f, f.size, true)), nil
	case torch && form == file.PlainPickle && likelihood(path.Base(name)) == 0 && f.size <= maxSniff:
		return isState(f, f.size, true), nil
	case torch:
		return true, nil
	case path.Ext(name) == ".joblib":
		return true, nil // compressed in one of many ways
	case file.IsMsgpack(head):
		return likely || path.Ext(name) == ".msgpack", nil
	case bytes.HasPrefix(head, []byte("\x89HDF")), bytes.HasPrefix(head, []byte{0x1f, 0x8b}), file.IsNpy(head), file.IsSafetensors(head):
		return true, nil
	case slices.ContainsFunc(compressions, func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }):
		return likely, nil
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return likely, nil
	case len(bytes.Trim(head, "\x00")) == 0:
		return likely, nil
	}
	return opaque(name, head), nil
}

// begun reports whether a file with a step in its name is empty: of a series it is one that was cut.
func (l *look) begun(name string) bool {
	info, err := l.stat(name)
	return err == nil && info.Size() == 0 && titleOf(path.Base(name)).step >= 0
}

// compressions begin files that are compressed in ways that are not read: zstd, xz, bzip2, lz4.
var compressions = []string{"\x28\xb5\x2f\xfd", "\xfd7zXZ\x00", "BZh", "\x04\x22\x4d\x18"}

// maxSniff bounds a pickle that is read to find out what is in it.
const maxSniff = 1 << 20

// isState reports whether there may be anything of training in a pickle whose name does not say so: a tokenizer, a list of
// files and the settings of a run are pickled as well. doubt is the answer for what is no whole pickle.
func isState(r io.ReaderAt, size int64, doubt bool) bool {
	shape, err := file.TorchShape(r, size)
	if err != nil {
		return doubt // the check says what is wrong
	}
	in := contentOf(shape)
	return in.step >= 0 || in.tensors || in.optimizer || in.more
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
