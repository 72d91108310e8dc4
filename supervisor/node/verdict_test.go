package node

import (
	"slices"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestCrossing is what the other nodes are told: who failed by itself, whom the evidence names, and what one had said that
// was stopped. Which of that is the cause is not for this node to say.
func TestCrossing(t *testing.T) {
	echo := func(rank int, names ...int) exitcodes.Finding {
		return exitcodes.Finding{Verdict: exitcodes.Retry, Role: exitcodes.RoleCascade, Rank: rank, Names: names, At: noon}
	}
	stopped := func(rank int, role exitcodes.Role) exitcodes.Finding {
		return exitcodes.Finding{Verdict: exitcodes.Retry, Rank: rank, Said: &exitcodes.Finding{
			Verdict: exitcodes.Fatal, Role: role, Rank: rank, Message: "it had failed already",
		}}
	}
	root := exitcodes.Finding{Verdict: exitcodes.Fatal, Role: exitcodes.RoleRoot, Rank: 6, At: noon}
	for name, tt := range map[string]struct {
		findings []exitcodes.Finding
		verdict  exitcodes.Verdict
		rank     int
		said     int // the rank whose words cross; -1 for none
		names    []int
	}{
		"all were stopped, and nobody said a thing": {[]exitcodes.Finding{{Verdict: exitcodes.Retry, Rank: 1}}, "", -1, -1, nil},
		"all were stopped, and one had failed":      {[]exitcodes.Finding{{Verdict: exitcodes.Retry, Rank: 1}, stopped(2, exitcodes.RoleRoot)}, "", 2, 2, nil},
		"it may have lost a peer, too":              {[]exitcodes.Finding{stopped(2, exitcodes.RoleSuspect)}, "", -1, -1, nil},
		"an echo beside it":                         {[]exitcodes.Finding{echo(1), stopped(2, exitcodes.RoleRoot)}, exitcodes.Retry, 1, 2, nil},
		"of two the first":                          {[]exitcodes.Finding{stopped(2, exitcodes.RoleRoot), stopped(3, exitcodes.RoleRoot), echo(1)}, exitcodes.Retry, 1, 2, nil},
		"of two the one that is named":              {[]exitcodes.Finding{stopped(2, exitcodes.RoleRoot), stopped(3, exitcodes.RoleRoot), echo(1, 9, 3)}, exitcodes.Retry, 1, 3, []int{3, 9}},
		"all names, once":                           {[]exitcodes.Finding{echo(1, 9, 3), echo(2, 9, 4)}, exitcodes.Retry, 1, -1, []int{3, 4, 9}},
		"one that ended by itself":                  {[]exitcodes.Finding{echo(1), root, stopped(2, exitcodes.RoleRoot)}, exitcodes.Fatal, 6, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := crossing(tt.findings)
			said := -1
			if f.Said != nil {
				said = f.Said.Rank
			}
			if f.Verdict != tt.verdict || f.Rank != tt.rank || said != tt.said || !slices.Equal(f.Names, tt.names) {
				t.Errorf("%q of rank %d, said by %d, names %v; want %q of %d, said by %d, names %v",
					f.Verdict, f.Rank, said, f.Names, tt.verdict, tt.rank, tt.said, tt.names)
			}
			if tt.verdict == "" && f.Said != nil && f.Message != f.Said.Message {
				t.Errorf("the record says %q", f.Message)
			}
		})
	}
}
