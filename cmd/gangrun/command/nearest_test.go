package command

import "testing"

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "log", 3}, {"log", "", 3}, {"log", "log", 0},
		{"lgo", "log", 1}, {"ab", "ba", 1}, {"abcd", "badc", 2},
		{"kil", "kill", 1}, {"grade", "grace", 1}, {"kitten", "sitting", 3}, {"hang", "wrong", 3},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
