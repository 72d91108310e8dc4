package file

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestNpy follows numpy's arrays, one behind another, to the end of their file.
func TestNpy(t *testing.T) {
	array := func(descr, shape string, bytes int) string {
		header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", descr, shape)
		return npyMagic + "\x01\x00" + string([]byte{byte(len(header)), 0}) + header + strings.Repeat("x", bytes)
	}
	two := array("<f4", "3, 2", 24) + array("<i8", "", 8)
	for name, c := range map[string]struct {
		data   string
		arrays int
		why    string
	}{
		"two":                      {two, 2, ""},
		"behind a line of JSON":    {`{"depth": 2}` + "\n" + two, 2, ""},
		"characters":               {array("<U3", "2,", 24), 1, ""},
		"objects":                  {array("|O", "2,", 5), 1, ""},
		"cut in the second":        {two[:len(two)-1], 1, "truncated"},
		"cut in the first":         {two[:90], 0, "truncated"},
		"cut in a header":          {two[:40], 0, "truncated"},
		"something behind":         {two + "12345678", 2, "size_mismatch"},
		"a header of too many":     {npyMagic + "\x02\x00\xff\xff\xff\xff", 0, "truncated"},
		"more than a number holds": {array("<f8", "99999999999, 99999999999", 8), 1, ""},
	} {
		arrays, err := Npy(strings.NewReader(c.data), int64(len(c.data)))
		if arrays != c.arrays || string(reason(t, err)) != c.why {
			t.Errorf("%s: %d arrays and %v, want %d and %q", name, arrays, err, c.arrays, c.why)
		}
	}
}

func FuzzNpy(f *testing.F) {
	f.Add([]byte(npyMagic + "\x01\x00\x33\x00{'descr': '<f4', 'fortran_order': False, 'shape': ()}   1234"))
	f.Add([]byte("{\"depth\": 2}\n" + npyMagic + "\x02\x00\x20\x00\x00\x00{'descr': '<i8', 'shape': (1,), }12345678"))
	f.Fuzz(func(t *testing.T, data []byte) {
		arrays, err := Npy(bytes.NewReader(data), int64(len(data)))
		if arrays < 0 || arrays > len(data)/len(npyMagic) {
			t.Errorf("%d arrays in %d bytes, %v", arrays, len(data), err)
		}
		IsNpy(data)
		if n, ok := npyNumber(data); ok && n < 0 {
			t.Error(n)
		}
	})
}
