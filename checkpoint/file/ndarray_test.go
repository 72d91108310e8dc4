package file

import (
	"slices"
	"strings"
	"testing"
)

// TestNDArrays follows what MXNet saves its parameters in to its end.
func TestNDArrays(t *testing.T) {
	number := func(n byte, bytes int) string { return string([]byte{n}) + strings.Repeat("\x00", bytes-1) }
	array := func(magic, stored string, kind byte, data int) string {
		return magic + stored + number(2, 4) + number(3, 8) + number(2, 8) + number(1, 8) + number(kind, 4) + strings.Repeat("x", data)
	}
	const second, third = "\xc9\xfa\x93\xf9", "\xca\xfa\x93\xf9"
	dense, sparse := number(0, 4), number(1, 4)
	file := func(arrays ...string) string {
		return ndarrayMagic + number(0, 8) + number(byte(len(arrays)), 8) + strings.Join(arrays, "")
	}
	names := number(2, 8) + number(1, 8) + "a" + number(2, 8) + "bc"
	two := file(array(second, dense, 0, 24), array(third, dense, 2, 12))
	for name, c := range map[string]struct {
		data  string
		names []string
		why   string
	}{
		"two":                  {two + names, []string{"a", "bc"}, ""},
		"without names":        {two + number(0, 8), nil, ""},
		"cut in an array":      {two[:len(two)-1], nil, "truncated"},
		"cut in the head":      {two[:20], nil, "truncated"},
		"cut before the names": {two, nil, "truncated"},
		"cut in a name":        {two + names[:len(names)-1], nil, "truncated"},
		"something behind":     {two + names + "x", nil, "size_mismatch"},
		"a sparse one":         {file(array(second, sparse, 0, 24)) + names, nil, "unknown"},
		"another type":         {file(array(second, dense, 77, 24)) + names, nil, "unknown"},
		"another version":      {file(array("\xc8\xfa\x93\xf9", dense, 0, 24)) + names, nil, "unknown"},
	} {
		got, err := NDArrays(strings.NewReader(c.data), int64(len(c.data)))
		why := "unknown"
		if err != ErrNoShape {
			why = string(reason(t, err))
		}
		if !slices.Equal(got, c.names) || why != c.why {
			t.Errorf("%s: %q and %v, want %q and %q", name, got, err, c.names, c.why)
		}
	}
}

func FuzzNDArrays(f *testing.F) {
	f.Add([]byte(ndarrayMagic + strings.Repeat("\x01\x00\x00\x00\x00\x00\x00\x00", 6)))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = NDArrays(strings.NewReader(string(data)), int64(len(data)))
	})
}
