package file

import (
	"bytes"
	"io"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Torch is the form of a file that torch.save, torch.jit.save or pickle wrote.
type Torch int

// The forms.
const (
	TorchZip    Torch = iota // torch.save since torch 1.6
	TorchScript              // torch.jit.save: a program with its weights
	TorchLegacy              // torch.save before, and on demand
	PlainPickle
)

// maxKeys bounds how many storages of one file are compared.
const maxKeys = 1 << 18

// IsTorch tells the form of a file by how it begins; a zip is a TorchZip. 32 bytes are enough.
func IsTorch(head []byte) (Torch, bool) {
	switch {
	case IsZip(head):
		return TorchZip, true
	case isTorchLegacy(head):
		return TorchLegacy, true
	case IsPickle(head):
		return PlainPickle, true
	}
	return 0, false
}

// TorchNames looks at the names in a zip of torch.save or torch.jit.save, and tells one from the other. There is a
// data.pkl, in one directory of whatever name.
func TorchNames(z *Zip) (Torch, error) {
	form := TorchZip
	stem, _, err := program(z, func(name string) {
		if name == "constants.pkl" || strings.HasPrefix(name, "code/") {
			form = TorchScript
		}
	})
	if err == nil && stem == "" {
		err = problem.New(problem.ZipMissingRecords, "it has no data.pkl among its %d entries", z.Entries)
	}
	return form, err
}

// program finds the data.pkl of an archive and the directory that it is in, and calls visit with the names in it.
func program(z *Zip, visit func(name string)) (stem string, e Entry, err error) {
	first := ""
	err = z.Each(func(entry Entry) error {
		dir, name, ok := strings.Cut(entry.Name, "/")
		if first == "" {
			first = dir
		}
		if !ok || dir != first {
			return nil
		}
		if name == "data.pkl" {
			stem, e = dir, entry
		}
		visit(name)
		return nil
	})
	return stem, e, err
}

// TorchRecords compares what a file of torch.save says that it consists of with what is in it. A save that ends with an
// exception closes its zip nevertheless, and then storages are missing from a zip that is well-formed (__exit__ of
// _open_zipfile_writer_file in torch/serialization.py).
func TorchRecords(z *Zip) error {
	script := false
	keys := make(map[string]struct{})
	stem, e, err := program(z, func(name string) {
		script = script || name == "constants.pkl"
		if key, ok := strings.CutPrefix(name, "data/"); ok && len(keys) <= maxKeys {
			keys[key] = struct{}{}
		}
	})
	if err != nil || script || stem == "" || e.Method != 0 || len(keys) > maxKeys {
		return err
	}
	from, end, err := z.data(e)
	if err != nil {
		return err
	}
	missing, first := 0, ""
	w := newWindow(z.r, from, end)
	p := pickle{w: w, keep: isStorageWord, storages: func(s storage) {
		if _, ok := keys[s.key]; ok {
			return
		}
		if missing++; first == "" {
			first = s.key
		}
	}}
	switch err := p.walk(); {
	case err == errTooMuch:
	case err != nil:
		return err
	case w.left() > 0:
		return problem.New(problem.BadPickle, "%d bytes follow the pickle in %q", w.left(), e.Name)
	}
	if missing > 0 {
		return problem.New(problem.ZipMissingRecords,
			"%q names the storage %q, which is not among the %d in the file: an interrupted save", e.Name, first, len(keys))
	}
	return nil
}

// isStorageWord picks the texts that identifiers of storages are made of: the word and the numbers.
func isStorageWord(s string) bool {
	if s == "storage" {
		return true
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) <= 20
}

// VerifyZip compares all checksums.
func VerifyZip(z *Zip, read func(n int) error) error {
	return z.Each(func(e Entry) error { return z.Verify(e, read) })
}

// maxNumber bounds what torch.save makes of one number: a zip with a few names in it.
const maxNumber = 64 << 10

// TorchNumber is the whole number that torch.save wrote, as it is or as a tensor with one element. It is unknown when
// there is something else, or more than a number takes. Zeros are no other form, but what a cut save leaves.
func TorchNumber(r io.ReaderAt, size int64) (n int64, known bool, err error) {
	if size > maxNumber {
		return 0, false, nil
	}
	head := make([]byte, min(size, 32))
	if err := readAt(r, head, 0); err != nil {
		return 0, false, err
	}
	if !IsZip(head) && len(bytes.Trim(head, "\x00")) > 0 {
		return 0, false, nil
	}
	z, err := OpenZip(r, size)
	if err != nil {
		return 0, false, err
	}
	storages := map[string]Entry{}
	stem, e, err := program(z, func(string) {})
	if err != nil || stem == "" || e.Method != 0 {
		return 0, false, err
	}
	err = z.Each(func(e Entry) error {
		storages[strings.TrimPrefix(e.Name, stem+"/data/")] = e
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	from, end, err := z.data(e)
	if err != nil {
		return 0, false, err
	}
	var only []storage
	p := pickle{w: newWindow(r, from, end), storages: func(s storage) { only = append(only, s) }}
	switch err := p.walk(); {
	case err == errTooMuch:
		return 0, false, nil
	case err != nil:
		return 0, false, err
	case p.stack[0].kind == number:
		return p.stack[0].n, true, nil
	case len(only) != 1 || only[0].count != 1:
		return 0, false, nil
	}
	_, class, _ := strings.Cut(only[0].class, " ")
	width, found := wholeSizes[class]
	e, there := storages[only[0].key]
	if !found || !there || e.Method != 0 || e.Size != width {
		return 0, false, nil
	}
	if from, end, err = z.data(e); err != nil {
		return 0, false, err
	}
	w := newWindow(r, from, end)
	n, known = (&pickle{w: w}).long(uint64(width))
	return n, known, w.err
}

// wholeSizes are the bytes of one element of the storages that hold whole numbers.
var wholeSizes = map[string]int64{"LongStorage": 8, "IntStorage": 4, "ShortStorage": 2}
