package exitcodes

import "testing"

// TestEveryListIsHeard: a list beyond those that heard has bits for would never be heard.
func TestEveryListIsHeard(t *testing.T) {
	for _, v := range []*vocabulary{phrases, wordings} {
		for list, rule := range v.lists {
			if !v.in([]byte(rule.Literals[0])).any(list) {
				t.Errorf("list %d is not heard: %q", list, rule.Literals[0])
			}
		}
	}
}
