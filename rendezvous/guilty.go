package rendezvous

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// report is what the workers of one member came to, and when the store first heard of it.
type report struct {
	node    string
	rev     int64
	outcome *Outcome
}

// guilty chooses, of what the members report, the failure that the stop comes of, as it is chosen among the workers of
// one node: the strongest role, then the one of which the store heard first. Where only echoes are known it is what a
// stopped worker had said of a failure of its own; one whose rank the echoes name comes first. What was said by a
// worker that was stopped never stands against a failure of somebody who ended by himself.
func (t *turn) guilty(reports []report) (report, bool) {
	reports = slices.SortedStableFunc(slices.Values(reports), func(a, b report) int { return cmp.Compare(a.rev, b.rev) })
	findings := make([]exitcodes.Finding, len(reports))
	for i, r := range reports {
		findings[i] = r.outcome.Finding()
		findings[i].At = time.Unix(int64(i), 0) // the store's order, for the clocks of nodes differ
		for _, host := range findings[i].Hosts {
			if first, n := t.ranksOf(t.nodeAt(host, r.node)); len(findings[i].Names) == 0 { // which of them is not known
				findings[i].Names = span(first, n)
			}
		}
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
		o.Message = cut(from.Message + t.suspects(reports))
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

// suspects says whom the echoes name that have said nothing themselves, and where those are: ranks, and nodes by an
// address at which a connection was lost.
func (t *turn) suspects(reports []report) (text string) {
	told := map[string]bool{}
	heard := func(node string, rank int) bool {
		return slices.ContainsFunc(reports, func(r report) bool {
			o := r.outcome
			return r.node == node && (o.Said != nil || o.Role != "" && (rank < 0 || o.Rank == rank))
		})
	}
	tell := func(suspect, node string, rank int, by *Outcome) {
		if node != "" && !told[suspect] && !heard(node, rank) {
			told[suspect] = true
			text += exitcodes.Suspect(suspect, by.who())
		}
	}
	for _, r := range reports {
		for _, rank := range r.outcome.Names {
			node := t.nodeOf(rank)
			tell(fmt.Sprintf("rank %d on %s", rank, node), node, rank, r.outcome)
		}
		for _, host := range r.outcome.Hosts {
			node := t.nodeAt(host, r.node)
			suspect := fmt.Sprintf("node %s (%s)", node, host)
			if first, n := t.ranksOf(node); n == 1 {
				suspect = fmt.Sprintf("rank %d on %s (%s)", first, node, host)
			}
			tell(suspect, node, -1, r.outcome)
		}
	}
	return text
}

func (o *Outcome) who() string {
	if o.Rank < 0 {
		return "a worker"
	}
	return fmt.Sprintf("rank %d", o.Rank)
}

// nodeAt is the one member of the round, other than the one that names it, that has this address or name, or runs on the
// machine of this name; empty where none does, or several. Nothing is resolved: only what the members tell counts.
func (t *turn) nodeAt(host, namer string) (found string) {
	for _, m := range t.Round.Members {
		address, machine := "", "" // libraries name a host as they resolved it: by an address, or by a name
		if n := t.Nodes[m.Name]; n.Node != nil {
			address, machine = n.Address, n.Host
		}
		switch {
		case !sameHost(host, address) && !sameHost(host, machine) && !sameHost(host, m.Name):
		case m.Name == namer || found != "":
			return ""
		default:
			found = m.Name
		}
	}
	return found
}

// sameHost compares two hosts, of which one may be the short name of the other.
func sameHost(a, b string) bool {
	if a == b || a == "" || b == "" {
		return a == b && a != ""
	}
	if x, err := netip.ParseAddr(a); err == nil {
		y, err := netip.ParseAddr(b)
		return err == nil && x.Unmap() == y.Unmap() // one address may be written in several ways
	}
	return strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}

// ranksOf are the ranks of a node: how many from which on. None of a node that is not in the round.
func (t *turn) ranksOf(node string) (first, n int) {
	for _, m := range t.Round.Members {
		if m.Name == node {
			return first, m.Slots
		}
		first += m.Slots
	}
	return 0, 0
}

// span are n numbers from first on, as many as may be named.
func span(first, n int) (numbers []int) {
	for i := range min(n, maxNames) {
		numbers = append(numbers, first+i)
	}
	return numbers
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
