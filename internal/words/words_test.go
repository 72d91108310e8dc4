package words

import "testing"

func TestFew(t *testing.T) {
	for want, names := range map[string][]string{
		"":                      nil,
		"a, b, c, d":            {"a", "b", "c", "d"},
		"a, b, c, d and 2 more": {"a", "b", "c", "d", "e", "f"},
	} {
		if got := Few(names); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 nodes", 1: "1 node", 2: "2 nodes"} {
		if got := Count(n, "node"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
