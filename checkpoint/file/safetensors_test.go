package file

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func withHeader(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func TestSafetensors(t *testing.T) {
	for _, test := range []struct {
		name string
		data []byte
		want problem.Reason
	}{
		{"good", filetest.Safetensors(3, 8, 0), ""},
		{"no tensors", withHeader("{}", 0), ""},
		{"padded", withHeader("{}      ", 0), ""},
		{"in another order", withHeader(`{"b":{"dtype":"F16","shape":[2],"data_offsets":[4,8]},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 8), ""},
		{"a type from later", withHeader(`{"b":{"dtype":"F1","shape":[64],"data_offsets":[0,8]}}`, 8), ""},
		{"of half bytes", withHeader(`{"b":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}`, 2), ""},
		{"of no elements", withHeader(`{"b":{"dtype":"F32","shape":[9000000000000000000,9,0],"data_offsets":[0,0]}}`, 0), ""},
		{"nothing", nil, problem.EmptyFile},
		{"zeros", make([]byte, 100), problem.BadSafetensors},
		{"eight bytes", make([]byte, 8), problem.Truncated},
		{"no data", cut(filetest.Safetensors(3, 8), 11), problem.Truncated},
		{"cut by a byte", cut(filetest.Safetensors(3, 8), 1), problem.Truncated},
		{"cut in its header", filetest.Safetensors(3, 8)[:40], problem.Truncated},
		{"more behind it", append(filetest.Safetensors(3, 8), 0), problem.SizeMismatch},
		{"a header too long", withLength(filetest.Safetensors(3), 100_000_001), problem.BadSafetensors},
		{"not JSON", withHeader(`{"a":x`, 0), problem.BadSafetensors},
		{"half a header", withHeader(`{"a":{"dtype":"U8"`, 0), problem.BadSafetensors},
		{"more JSON", withHeader(`{}{}`, 0), problem.BadSafetensors},
		{"a gap", withHeader(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), problem.BadSafetensors},
		{"an overlap", withHeader(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3), problem.BadSafetensors},
		{"another size", withHeader(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,2]}}`, 2), problem.BadSafetensors},
		{"backwards", withHeader(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}}`, 2), problem.BadSafetensors},
		{"no offsets", withHeader(`{"a":{"dtype":"U8","shape":[2]}}`, 0), problem.BadSafetensors},
		{"a huge shape", withHeader(`{"a":{"dtype":"U8","shape":[9999999999,9999999999],"data_offsets":[0,1]}}`, 1), problem.BadSafetensors},
		{"nested without end", withHeader(strings.Repeat(`{"a":`, 200), 0), problem.BadSafetensors},
		{"nested deep", withHeader(`{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1],"x":`+strings.Repeat("[", 200)+
			strings.Repeat("]", 200)+`}}`, 1), problem.BadSafetensors},
		{"a number without end", withHeader(`{"a":{"shape":[`+strings.Repeat("9", 100)+`]}}`, 0), problem.BadSafetensors},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := Safetensors(bytes.NewReader(test.data), int64(len(test.data)))
			if got := reason(t, err); got != test.want {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func withLength(data []byte, n uint64) []byte {
	binary.LittleEndian.PutUint64(data, n)
	return data
}

// A header of many megabytes, one text of them, is read without holding it.
func TestSafetensorsMemory(t *testing.T) {
	data := withHeader(`{"__metadata__":{"x":"`+strings.Repeat("y", 20<<20)+`"}}`, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := Safetensors(bytes.NewReader(data), int64(len(data)))
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err != nil || n > 1<<20 {
		t.Errorf("%v, and %d bytes were allocated", err, n)
	}
}

func TestWeightIndex(t *testing.T) {
	for _, test := range []struct {
		data string
		want []string
		why  problem.Reason
	}{
		{string(filetest.WeightIndex("b", "a", "b")), []string{"a", "b"}, ""},
		{`{"weight_map":{"a":"m\u006f"},"metadata":{"total_size":NaN}}`, []string{"mo"}, ""},
		{"", nil, problem.EmptyFile},
		{`{"weight_map":{"a":"b"}`, nil, problem.BadJSON},
		{`[]`, nil, problem.BadJSON},
		{`{}`, nil, problem.BadIndex},
		{`{"weight_map":{}}`, nil, problem.BadIndex},
		{`{"weight_map":{"a":7}}`, nil, problem.BadJSON},
		{fmt.Sprintf(`{"weight_map":{"a":%q}}`, strings.Repeat("b", 5000)), nil, problem.BadIndex},
	} {
		got, err := WeightIndex(strings.NewReader(test.data), int64(len(test.data)))
		if reason(t, err) != test.why || !slices.Equal(got, test.want) {
			t.Errorf("%.50q: %q, %v, want %q, %q", test.data, got, err, test.want, test.why)
		}
	}
}

func FuzzSafetensors(f *testing.F) {
	seed(f, "*.safetensors")
	f.Add(filetest.Safetensors(3, 8))
	f.Fuzz(func(t *testing.T, data []byte) { hostile(t, data, Safetensors) })
}

func FuzzWeightIndex(f *testing.F) {
	f.Add(filetest.WeightIndex("a", "b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		hostile(t, data, func(r io.ReaderAt, size int64) error {
			_, err := WeightIndex(r, size)
			return err
		})
	})
}
