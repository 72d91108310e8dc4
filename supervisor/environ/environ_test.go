package environ

import (
	"slices"
	"testing"
)

func TestGetAndSet(t *testing.T) {
	env := []string{"A=1", "AB=2", "A=3", "ODD", "C="}
	for name, want := range map[string]string{"A": "3", "AB": "2", "C": "", "ODD": "", "X": ""} {
		if got := Get(env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := Set(slices.Clone(env), "A", "4"); !slices.Equal(got, []string{"AB=2", "ODD", "C=", "A=4"}) {
		t.Errorf("%q", got)
	}
}
