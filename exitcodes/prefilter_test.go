package exitcodes

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Whatever the literals and the line, those rules are candidates that have a literal in it, and those without one.
func TestCandidatesHaveALiteralInTheLine(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	some := func(longest int, bytes string) string {
		s := make([]byte, random.IntN(longest+1))
		for i := range s {
			s[i] = bytes[random.IntN(len(bytes))]
		}
		return string(s)
	}
	for range 3_000 {
		alphabet := []string{"ab", "a\x00", "abcdefgh"}[random.IntN(3)]
		rules := make([]Rule, random.IntN(70))
		for i := range rules {
			rules[i].Pattern = lazy("")
			for range random.IntN(4) {
				rules[i].Literals = append(rules[i].Literals, some(9, alphabet))
			}
		}
		line := some(20, alphabet)
		var want []int
		for i, rule := range rules {
			if len(rule.Literals) == 0 || slices.ContainsFunc(rule.Literals, func(l string) bool { return strings.Contains(line, l) }) {
				want = append(want, i)
			}
		}
		if got := slices.Collect(newPrefilter(rules).candidates([]byte(line))); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q: candidates %v, want %v", seed, line, got, want)
		}
	}
}
