package file

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// ubjOf is Universal Binary JSON that begins as a booster does, with this behind its first key.
func ubjOf(rest string) []byte { return []byte("{L\x00\x00\x00\x00\x00\x00\x00\x07learner{" + rest) }

// TestBoosterBounds: what says that there is more than a file can hold is refused, without memory or time for it, and nothing that was cut
// is whole.
func TestBoosterBounds(t *testing.T) {
	whole := []byte("{L\x00\x00\x00\x00\x00\x00\x00\x07learner{U\x01a[$d#U\x02\x00\x00}\x00\x00}]\x00U\x01bSU\x02xyU\x01c[TFZ]U\x01d{$U#U\x01U\x01ei}}")
	if err := BoosterWhole(bytes.NewReader(whole), int64(len(whole))); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		err := BoosterWhole(bytes.NewReader(whole[:n]), int64(n))
		if _, wrong := errors.AsType[*problem.Error](err); !wrong {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	for name, data := range map[string][]byte{
		"more numbers than bytes": ubjOf("U\x01a[$D#L\x7f\xff\xff\xff\xff\xff\xff\xff}}"),
		"more nothings":           ubjOf("U\x01a{$Z#L\x7f\xff\xff\xff\xff\xff\xff\xff}}"),
		"a length below zero":     ubjOf("U\x01aSL\xff\xff\xff\xff\xff\xff\xff\xff}}"),
		"deeper than is read":     ubjOf("U\x01a" + string(bytes.Repeat([]byte("["), 100000)) + "}}"),
		"no marker":               ubjOf("U\x01a?}}"),
		"no length":               ubjOf("D\x01a?}}"),
	} {
		err := BoosterWhole(bytes.NewReader(data), int64(len(data)))
		if _, wrong := errors.AsType[*problem.Error](err); !wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInlinedBounds: an array that says that it is larger than its file is not gone over, and what holds it has no shape.
func TestInlinedBounds(t *testing.T) {
	for name, array := range map[string]string{
		"larger than the file": "X\x05\x00\x00\x00shapeI99999\n\x85X\x05\x00\x00\x00dtypecnumpy\ndtype\nX\x02\x00\x00\x00f4\x85R",
		"larger than a number": "X\x05\x00\x00\x00shape(I9999999999\nI9999999999\nI9999999999\ntX\x05\x00\x00\x00dtypecnumpy\ndtype\nX\x02\x00\x00\x00f4\x85R",
		"of no type":           "X\x05\x00\x00\x00shapeI1\n\x85",
		"below zero":           "X\x05\x00\x00\x00shapeI-1\n\x85X\x05\x00\x00\x00dtypecnumpy\ndtype\nX\x02\x00\x00\x00f4\x85R",
	} {
		data := []byte("\x80\x02cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}(" + array + "ubabcd.")
		if s, err := TorchShape(bytes.NewReader(data), int64(len(data))); !errors.Is(err, ErrNoShape) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}
