package file

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// flaxState is what flax.serialization.to_bytes makes of the state of a training run: a step as a plain number,
// parameters, and the state of an optimizer with a count that is an array.
func flaxState() []byte {
	text := func(s string) string { return string([]byte{0xa0 | byte(len(s))}) + s }
	array := func(shape, kind, data string) string {
		inner := "\x93" + shape + text(kind) + "\xc4" + string([]byte{byte(len(data))}) + data
		return "\xc7" + string([]byte{byte(len(inner)), flaxArray}) + inner
	}
	return []byte("\x83" + text("step") + "\xcd\x01\x2c" +
		text("params") + "\x81" + text("kernel") + array("\x92\x02\x03", "float32", strings.Repeat("w", 24)) +
		text("opt_state") + "\x82" +
		text("0") + "\x82" + text("count") + array("\x90", "int32", "\x2c\x01\x00\x00") +
		text("mu") + "\x81" + text("kernel") + array("\x92\x02\x03", "float32", strings.Repeat("m", 24)) +
		text("1") + "\x80")
}

func TestMsgpack(t *testing.T) {
	data := flaxState()
	s, err := MsgpackShape(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	count := s.Get("opt_state").Get("0").Get("count")
	if !slices.Equal(s.Keys, []string{"step", "params", "opt_state"}) || s.Get("step").Number != 300 ||
		s.Get("params").Get("kernel").Kind != Tensor || count.Kind != Number || count.Number != 300 || s.Get("opt_state").Get("1").Pairs != 0 {
		t.Errorf("%+v, count %+v", s, count)
	}
	if !IsMsgpack(data) {
		t.Error("it is not known by its beginning")
	}
	for n := range len(data) {
		_, err := MsgpackShape(bytes.NewReader(data[:n]), int64(n))
		want := problem.Truncated
		if n == 0 {
			want = problem.EmptyFile
		}
		if p, ok := errors.AsType[*problem.Error](err); !ok || p.Reason != want {
			t.Errorf("%d of %d bytes: %v", n, len(data), err)
		}
	}
	for _, tt := range []struct {
		data string
		want problem.Reason
	}{
		{string(data) + "x", problem.SizeMismatch},
		{string(make([]byte, 100)), problem.SizeMismatch},
		{"\x81\xa1a\xc1", problem.BadIndex},
		{strings.Repeat("\x91", 1000), problem.BadIndex},
		{"\xdf\xff\xff\xff\xff\xa1a", problem.Truncated},
		{"\xc6\xff\xff\xff\xff", problem.Truncated},
		{"\x81\xa1a\xc9\xff\xff\xff\xff\x01", problem.Truncated},
	} {
		_, err := MsgpackShape(strings.NewReader(tt.data), int64(len(tt.data)))
		if p, ok := errors.AsType[*problem.Error](err); !ok || p.Reason != tt.want {
			t.Errorf("%.20q: %v, want %s", tt.data, err, tt.want)
		}
	}
}

// TestMsgpackValues has one value of each form.
func TestMsgpackValues(t *testing.T) {
	for data, want := range map[string]Shape{
		"\x07": {Kind: Number, Number: 7}, "\xff": {Kind: Number, Number: -1}, "\xcc\xff": {Kind: Number, Number: 255},
		"\xce\x00\x01\x00\x00": {Kind: Number, Number: 65536}, "\xd1\xff\xfe": {Kind: Number, Number: -2},
		"\xcf\xff\xff\xff\xff\xff\xff\xff\xff": {Kind: Other}, "\xcb12345678": {Kind: Float}, "\xc0": {Kind: None},
		"\xc3": {Kind: Number, Number: 1}, "\xd9\x02ab": {Kind: Text, Text: "ab"}, "\xd4\x05x": {Kind: Other}, "\xc5\x00\x01x": {Kind: Bytes},
		"\x92\x01\x02": {Kind: List, Pairs: 2}, "\xdc\x00\x01\x01": {Kind: List, Pairs: 1}, "\xde\x00\x01\xa1a\x01": {Kind: Dict, Pairs: 1},
		"\x81\xb9__msgpack_chunked_array__\xc3": {Kind: Tensor},
	} {
		s, err := MsgpackShape(strings.NewReader(data), int64(len(data)))
		if err != nil || s.Kind != want.Kind || s.Number != want.Number || s.Text != want.Text || s.Pairs != want.Pairs {
			t.Errorf("%q: %+v, %v, want %+v", data, s, err, want)
		}
	}
}

func TestIsMsgpack(t *testing.T) {
	for head, want := range map[string]bool{
		"\x81\xa1a\x01": true, "\xde\x00\x10\xa4step": true, "\xdf\x00\x00\x00\x10\xd9\x04step": true,
		"\x80\x02}q\x00": false, "PK\x03\x04": false, "\x81\x01\x01": false, "\x81": false, "": false, "\xde": false, "\xdf\x00\x00": false,
		"\x8f\xa1\x00": false, "{\"a\"": false,
	} {
		if got := IsMsgpack([]byte(head)); got != want {
			t.Errorf("%q: %v", head, got)
		}
	}
}

func FuzzMsgpack(f *testing.F) {
	f.Add(flaxState())
	f.Add([]byte("\xdf\xff\xff\xff\xff\xa1a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		IsMsgpack(b)
		s, err := MsgpackShape(bytes.NewReader(b), int64(len(b)))
		if (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}
