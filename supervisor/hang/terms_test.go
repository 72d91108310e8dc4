package hang

import "testing"

// TestDiffer: ranks that have all joined the same number of collectives, and not the same ones.
func TestDiffer(t *testing.T) {
	in := func(terms, call string, joined, completed int64) Group {
		return Group{Name: "0", What: "process group 0 (default_pg)", Joined: joined, Completed: completed, Terms: terms, Call: call}
	}
	sum, gather := in("all_reduce of 8 elements", "all_reduce (train.py:41)", 7, 6), in("_all_gather_base of 8 elements", "_all_gather_base (eval.py:9)", 7, 6)
	less := in("all_reduce of 6 elements", "all_reduce", 9, 6)
	for name, test := range map[string]struct {
		groups []Group
		want   int
		why    string
	}{
		"two, of which either may be wrong": {[]Group{sum, gather}, -1, "the ranks call different collectives as number 7 of process group 0 (default_pg): " +
			"rank 0 all_reduce of 8 elements (train.py:41), rank 1 _all_gather_base of 8 elements (eval.py:9)"},
		"another amount, by who ran on": {[]Group{sum, less}, -1, "the ranks call different collectives as number 7 of process group 0 (default_pg): " +
			"rank 0 all_reduce of 8 elements (train.py:41), rank 1 all_reduce of 6 elements"},
		"the only one": {[]Group{sum, sum, gather, sum}, 2, "the ranks call different collectives as number 7 of process group 0 (default_pg): " +
			"rank 0, rank 1, rank 3 all_reduce of 8 elements (train.py:41), rank 2 _all_gather_base of 8 elements (eval.py:9)"},
		"two against two":       {[]Group{sum, gather, gather, sum}, -1, "the ranks call different collectives as number 7 of process group 0 (default_pg): rank 0, rank 3 all_reduce of 8 elements (train.py:41), rank 1, rank 2 _all_gather_base of 8 elements (eval.py:9)"},
		"the same":              {[]Group{sum, sum}, -1, ""},
		"one is elsewhere":      {[]Group{sum, in("_all_gather_base of 8 elements", "", 6, 5)}, -1, ""},
		"one has not joined it": {[]Group{sum, in("_all_gather_base of 8 elements", "", 6, 6)}, -1, ""},
		"not known of one":      {[]Group{sum, in("", "", 7, 6)}, -1, ""},
		"one alone":             {[]Group{sum}, -1, ""},
	} {
		var stands []Stand
		for i, g := range test.groups {
			stands = append(stands, Stand{Name: (Standing{Rank: i}).name(), Groups: []Group{g}})
		}
		if got, why := Differ(stands); got != test.want || why != test.why {
			t.Errorf("%s: %d %q, want %d %q", name, got, why, test.want, test.why)
		}
		if got, why := Blame(stands); test.why != "" && (got != test.want || why != test.why) {
			t.Errorf("%s: blamed %d %q", name, got, why)
		}
	}
}
