package rendezvous

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// report is what the workers of one member came to, and when the store first heard of it.
type report struct {
	node    string
	rev     int64
	outcome *Outcome
}

// guilty chooses, of what the members report, the failure that the stop comes of, as it is chosen among the workers of one
// node: the strongest role, then the one of which the store heard first. Where only echoes are known it is what a stopped
// worker had said of a failure of its own; one whose rank the echoes name comes first. What was said by a worker that was
// stopped never stands against a failure of somebody who ended by himself. nodeOf says on which node a rank is, empty for
// one that nobody has.
func guilty(reports []report, nodeOf func(rank int) string) (report, bool) {
	reports = slices.SortedStableFunc(slices.Values(reports), func(a, b report) int { return cmp.Compare(a.rev, b.rev) })
	findings := make([]exitcodes.Finding, len(reports))
	for i, r := range reports {
		findings[i] = r.outcome.Finding()
		findings[i].At = time.Unix(int64(i), 0) // the store's order, for the clocks of nodes differ
	}
	f, i := exitcodes.Guilty(findings)
	if i < 0 { // nobody failed by himself: what the others missed may have been this
		i = slices.IndexFunc(findings, func(f exitcodes.Finding) bool { return f.Said != nil })
		if i < 0 {
			return report{}, false
		}
		f = *findings[i].Said
	}
	r, from := reports[i], reports[i].outcome
	if f.Role < exitcodes.RoleRoot {
		o := *from
		o.Message = cut(f.Message + alsoNamed(findings, nodeOf))
		r.outcome = &o
		return r, true
	}
	if findings[i].Role < exitcodes.RoleRoot { // it is what a worker had said
		f.At = from.At
		o := OutcomeOf(f, from.Store, from.RunUID, from.Round)
		r.outcome = &o
	}
	return r, true
}

// alsoNamed says of which ranks the echoes speak that have said nothing themselves, and where those are.
func alsoNamed(findings []exitcodes.Finding, nodeOf func(rank int) string) (text string) {
	var named []int
	for _, f := range findings {
		named = append(named, f.Names...)
	}
	slices.Sort(named)
	for _, rank := range slices.Compact(named) {
		heard := slices.ContainsFunc(findings, func(f exitcodes.Finding) bool { return f.Rank == rank })
		if node := nodeOf(rank); node != "" && !heard {
			text += fmt.Sprintf("; rank %d on %s is named in it", rank, node)
		}
	}
	return text
}

// nodeOf is the node on which a rank of the round is, empty for a rank that nobody has.
func (t *turn) nodeOf(rank int) string {
	first := 0
	for _, m := range t.Round.Members {
		if rank >= first && rank < first+m.Slots {
			return m.Name
		}
		first += m.Slots
	}
	return ""
}
