package file

import (
	"bytes"
	"io"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// legacyMagic is the number that the first pickle of a legacy file holds (MAGIC_NUMBER in torch/serialization.py), as an
// opcode of pickle.
const legacyMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"

// isTorchLegacy looks for the number near the beginning: protocol 4 has a frame before it.
func isTorchLegacy(head []byte) bool {
	return IsPickle(head) && bytes.Contains(head[:min(len(head), 32)], []byte(legacyMagic))
}

// elementSizes are the bytes of one element, by the class of the storage (torch/storage.py and torch/__init__.py).
var elementSizes = map[string]int64{
	"DoubleStorage": 8, "FloatStorage": 4, "HalfStorage": 2, "BFloat16Storage": 2,
	"LongStorage": 8, "IntStorage": 4, "ShortStorage": 2, "CharStorage": 1, "ByteStorage": 1, "BoolStorage": 1,
	"ComplexDoubleStorage": 16, "ComplexFloatStorage": 8,
	"QUInt8Storage": 1, "QInt8Storage": 1, "QInt32Storage": 4, "QUInt4x2Storage": 1, "QUInt2x4Storage": 1,
	"UntypedStorage": 1, "_UntypedStorage": 1,
}

// legacyPickles reads the five pickles of a legacy file: which storages its state names, and in which order they are behind
// the pickles. n is the pickle that it came to.
func legacyPickles(w *window) (sizes map[string]storage, keys []string, n int, err error) {
	sizes = map[string]storage{}
	for n = range 5 {
		p := pickle{w: w}
		switch n {
		case 3:
			p.storages = func(s storage) {
				if _, ok := sizes[s.key]; !ok && len(sizes) <= maxKeys {
					sizes[s.key] = s
				}
			}
		case 4:
			p.fresh = func(key string) {
				if len(keys) <= maxKeys {
					keys = append(keys, key)
				}
			}
		}
		if err = p.walk(); err != nil || w.err != nil {
			break
		}
	}
	return sizes, keys, n, err
}

// TorchLegacyEnd reads the five pickles of a legacy file and follows the storages behind them to the end of the file:
// each is the number of its elements in eight bytes, and they (_legacy_save in torch/serialization.py).
func TorchLegacyEnd(r io.ReaderAt, size int64) error {
	w := newWindow(r, 0, size)
	sizes, keys, n, err := legacyPickles(w)
	switch {
	case w.err == errShort:
		return problem.New(problem.Truncated, "it ends at byte %d, within pickle %d of 5", size, n+1)
	case err == errTooMuch:
		return nil
	case err != nil:
		return err
	}
	if len(keys) > maxKeys || len(sizes) > maxKeys {
		return nil
	}
	if len(keys) != len(sizes) {
		return problem.New(problem.BadPickle, "it lists %d storages, and names %d", len(keys), len(sizes))
	}
	for i, key := range keys {
		s, ok := sizes[key]
		if !ok {
			return problem.New(problem.BadPickle, "it lists a storage %q that nothing in it names", key)
		}
		_, name, _ := strings.Cut(s.class, " ")
		element, ok := elementSizes[name]
		if !ok {
			return nil // of a version that is not known: where it ends is not either
		}
		count := w.number(8)
		if w.err == nil && int64(count) != s.count {
			return problem.New(problem.BadPickle, "storage %d of %d has %d elements, %d expected", i+1, len(keys), count, s.count)
		}
		if w.err == nil && count > uint64(w.left())/uint64(element) {
			w.err = errShort
		}
		w.skip(count * uint64(element))
		if w.err == errShort {
			return problem.New(problem.Truncated, "it ends within storage %d of %d, at byte %d", i+1, len(keys), size)
		}
		if w.err != nil {
			return w.err
		}
	}
	if w.left() > 0 {
		return problem.New(problem.SizeMismatch, "%d bytes follow its last storage", w.left())
	}
	return nil
}

// legacyStorages finds where the elements of tensors lie in a legacy file. They are looked for once, when one is asked for.
type legacyStorages struct {
	r      io.ReaderAt
	size   int64
	places map[string]int64
}

// element reads one whole number of a storage. Where a file is not as it says, that is for [TorchLegacyEnd] to tell.
func (f *legacyStorages) element(s storage, index int64) (n int64, ok bool, err error) {
	_, class, _ := strings.Cut(s.class, " ")
	width, whole := wholeSizes[class]
	if !whole || index < 0 || index >= s.count {
		return 0, false, nil
	}
	if f.places == nil {
		if err := f.find(); err != nil {
			return 0, false, err
		}
	}
	at, there := f.places[s.key]
	if !there || index >= (f.size-at)/width {
		return 0, false, nil
	}
	w := newWindow(f.r, at+index*width, f.size)
	n, ok = (&pickle{w: w}).long(uint64(width))
	return n, ok, w.err
}

func (f *legacyStorages) find() error {
	f.places = map[string]int64{}
	w := newWindow(f.r, 0, f.size)
	sizes, keys, _, err := legacyPickles(w)
	switch {
	case w.err != nil && w.err != errShort:
		return w.err
	case err != nil, len(keys) > maxKeys:
		return nil
	}
	for _, key := range keys {
		s := sizes[key]
		_, class, _ := strings.Cut(s.class, " ")
		element, known := elementSizes[class]
		w.skip(8)
		if !known || s.count < 0 || s.count > f.size/element || w.err != nil {
			return nil
		}
		f.places[key] = w.offset()
		w.skip(uint64(s.count * element))
	}
	return nil
}
