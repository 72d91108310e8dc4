package file

import (
	"bytes"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// TestMsgpackPairs has a stream of arrays, each with its path: what is in it, and where it is cut.
func TestMsgpackPairs(t *testing.T) {
	pair := func(value string, keys ...string) string {
		b := "\x92" + string([]byte{0x90 | byte(len(keys))})
		for _, k := range keys {
			b += string([]byte{0xa0 | byte(len(k))}) + k
		}
		return b + "\xc4" + string([]byte{byte(len(value))}) + value
	}
	const (
		array  = "\xc7\x11\x01\x93\x91\x01\xa7float32\xc4\x04\x00\x00\x80?"
		number = "\xc7\x0e\x01\x93\x90\xa5int32\xc4\x04\xdc\x05\x00\x00"
	)
	data := []byte(pair(number, "step") + pair(array, "opt", "0", "mu") + pair(array, "opt", "0", "nu"))
	if !IsMsgpack(data) {
		t.Error("its beginning is not known")
	}
	s, err := MsgpackShape(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if step := s.Get("step"); step == nil || step.Kind != Number || step.Number != 1500 {
		t.Errorf("step %+v", step)
	}
	if state := s.Get("opt").Get("0"); state.Get("mu") == nil || state.Get("nu") == nil || state.Get("nu").Kind != Tensor {
		t.Errorf("%+v", state)
	}
	for _, n := range []int{len(data) - 1, len(data) / 2, 9} {
		if _, err := MsgpackShape(bytes.NewReader(data[:n]), int64(n)); problem.Of(err, problem.NoMarker).Reason != problem.Truncated {
			t.Errorf("%d bytes of it: %v", n, err)
		}
	}
}
