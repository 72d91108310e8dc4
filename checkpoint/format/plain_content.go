package format

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// contentIn looks at one file, of whatever kind: whether it is whole, and what is in it.
func (l *look) contentIn(name string) (in content, err error) {
	in = content{step: -1}
	text := isSide(name)
	if text && path.Ext(name) != ".json" {
		return l.sideContent(name)
	}
	err = l.inside(name, func(r io.ReaderAt, size int64) (err error) {
		if text && !isPickled(r, size) {
			in, err = l.sideContent(name)
			return err
		}
		in, err = l.contentOfFile(name, r, size)
		return err
	})
	return in, err
}

// isPickled reports whether a file begins as what torch.save or pickle writes, whatever its name says.
func isPickled(r io.ReaderAt, size int64) bool {
	head := make([]byte, min(size, 32))
	n, _ := r.ReadAt(head, 0)
	_, torch := file.IsTorch(head[:n])
	return torch && n >= 4
}

func (l *look) contentOfFile(name string, r io.ReaderAt, size int64) (in content, err error) {
	in = content{step: -1}
	head := make([]byte, min(size, 512))
	if n, err := r.ReadAt(head, 0); n < len(head) {
		return in, err
	}
	form, torch := file.IsTorch(head[:min(len(head), 32)])
	ext := strings.ToLower(path.Ext(name))
	if torch && form == file.PlainPickle {
		if is, err := file.OfJoblib(r, size); err != nil || is || ext == ".joblib" {
			if err = cmp.Or(err, file.PickleEnds(r, size)); err != nil || l.Level < Manifests {
				return in, err
			}
			return shapedContent(r, size)
		}
	}
	switch {
	case ext == ".safetensors", file.IsSafetensors(head):
		return l.safetensorsContent(r, size)
	case ext == ".keras":
		c := Checkpoint{Resumable: true}
		names, err := l.kerasNames(r, size)
		if err == nil {
			c.kerasResumable(name, names)
		}
		return content{step: -1, tensors: true, alone: !c.Resumable, optimizer: c.Resumable && len(names) > 0}, err
	case bytes.HasPrefix(head, []byte("\x89HDF\r\n\x1a\n")) || !torch && (ext == ".h5" || ext == ".hdf5"):
		c := Checkpoint{Resumable: true}
		names, err := l.hdf5Names(r, size)
		c.kerasResumable(name, names)
		in.tensors, in.alone = true, !c.Resumable || len(names) > 0 && !slices.ContainsFunc(names, ofTraining)
		in.optimizer = slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "optimizer") })
		return in, err
	case torch && form == file.TorchZip:
		z, err := file.OpenZip(r, size)
		if err != nil {
			return in, err
		}
		if names, numbers, ok, err := file.Npz(z); err == nil && ok {
			in = named(names, numbers)
			in.positional = !slices.ContainsFunc(names, func(name string) bool { _, ok := numbered(name, "arr_", ""); return !ok })
			return in, nil
		}
		if ext == ".zip" {
			var names []string
			var state file.Entry // of the fields of what was saved, beside its tensors
			err := z.Each(func(e file.Entry) error {
				if e.Name == "data" {
					state = e
				}
				if names = append(names, e.Name); len(names) > maxMembers {
					return problem.New(problem.UnknownFormat, "it has more than %d entries", maxMembers)
				}
				return nil
			})
			if err != nil || !slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, "data.pkl") }) {
				if err != nil || state.Name == "" {
					return named(names, nil), err
				}
				numbers, err := z.JSONNumbers(state)
				return named(names, done(numbers)), err
			}
		}
		return l.torchContent(r, size)
	case torch:
		return l.torchContent(r, size)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return l.unpacked(name, r, size)
	case ext == ".msgpack", file.IsMsgpack(head):
		return l.msgpackContent(r, size)
	case file.IsNpy(head):
		if from, ok := file.NpyObjects(r, size); ok {
			return l.torchContent(io.NewSectionReader(r, from, size-from), size-from)
		}
		arrays, err := file.Npy(r, size)
		return content{step: -1, tensors: true, alone: arrays == 1}, err // several may be those of an optimizer, too
	case file.IsNDArrays(head):
		names, err := file.NDArrays(r, size)
		if errors.Is(err, file.ErrNoShape) {
			err = nil
		}
		in = named(names, nil)
		in.tensors, in.alone = true, !in.optimizer
		return in, err
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return in, file.TarEnd(r, size)
	case file.Booster(head) != file.NoBooster:
		in.alone, in.tensors, in.fitted, in.grown = true, true, true, true
		return in, file.BoosterWhole(r, size)
	case len(bytes.Trim(head, "\x00")) == 0:
		return in, problem.New(problem.BadZip, "it begins with zeros")
	case slices.Contains(strongEndings, ext) && !slices.Contains(opaqueEndings, ext):
		return in, problem.New(problem.BadZip, "it begins with % x: neither a zip nor a pickle", head[:min(8, len(head))])
	}
	if size <= maxSide && isText(head) {
		text := make([]byte, size)
		if n, err := r.ReadAt(text, 0); n < len(text) {
			return in, err
		}
		return textContent(path.Base(name), string(text), content{step: -1, alone: true, text: true}), nil
	}
	in.opaque = !ofTokenizer(name)
	in.alone = !in.opaque
	return in, nil
}

// ofTokenizer reports whether a file is by its name that of a tokenizer, which lies beside many a model: tokenizer.model.
func ofTokenizer(name string) bool {
	return slices.ContainsFunc(pieces(stemOf(path.Base(name))), func(p piece) bool { return tokenizerWords[p.text] })
}

var tokenizerWords = set("tokenizer spiece sentencepiece vocab bpe")

// ofTraining reports whether the name of a group says that there may be more in it than the weights of a layer.
func ofTraining(name string) bool {
	return has(strings.ToLower(name), []string{"optim", "adam", "momentum", "state", "train", "step", "epoch", "iter", "rng", "checkpoint"})
}

// torchContent looks at what torch.save or pickle wrote.
func (l *look) torchContent(r io.ReaderAt, size int64) (in content, err error) {
	in = content{step: -1}
	form, err := l.torch(r, size)
	if err != nil || l.Level < Manifests {
		return in, err
	}
	if form == file.TorchScript {
		return content{step: -1, tensors: true, alone: true}, nil
	}
	return shapedContent(r, size)
}

// shapedContent weighs what a file of pickles would build, as far as that can be told.
func shapedContent(r io.ReaderAt, size int64) (in content, err error) {
	in = content{step: -1}
	shape, err := file.TorchShape(r, size)
	if errors.Is(err, file.ErrNoShape) {
		return in, nil
	}
	if err != nil {
		return in, err
	}
	in = contentOf(shape)
	return in, in.err
}

// msgpackContent looks at what flax has written into one file.
func (l *look) msgpackContent(r io.ReaderAt, size int64) (in content, err error) {
	in = content{step: -1}
	if l.Level < Manifests {
		return in, nil
	}
	shape, err := file.MsgpackShape(r, size)
	if errors.Is(err, file.ErrNoShape) {
		return in, nil
	}
	if err != nil {
		return in, err
	}
	return contentOf(shape), nil
}

func (l *look) safetensorsContent(r io.ReaderAt, size int64) (in content, err error) {
	in = content{step: -1}
	header, err := file.SafetensorsHeader(r, size)
	if err != nil || l.Level < Manifests && header > maxEndsDirectory {
		return in, err
	}
	if err := file.Safetensors(r, size); err != nil || l.Level < Manifests {
		return in, err
	}
	var names []string
	metadata, err := file.SafetensorsNames(r, size, func(name string) { names = append(names, strings.Clone(name)) })
	if errors.Is(err, file.ErrNoShape) {
		return in, nil
	}
	numbers := map[string]int64{}
	for key, text := range metadata {
		if n, ok := digits(text); ok {
			numbers[key] = n
		}
	}
	return named(names, numbers), err
}
