package process

import "testing"

// FuzzParseStat: a process gives itself its name, with whatever is in it.
func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a) b) S 1 42 42 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 123456 1000 100 18446744073709551615"))
	f.Add([]byte("7 (x\n8 (y) R 1 7 7 0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if d, _, ok := parseStat(data); ok && (d.PID <= 0 || d.started == "") {
			t.Errorf("%+v", d)
		}
	})
}
