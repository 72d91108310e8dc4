package rendezvous

import (
	"cmp"
	"fmt"
	"slices"
)

// assignment is who takes part in the next round, in the order of their ranks. chosen is nil when there is no round
// yet; missing names whom it lacks, and spare who is left over.
type assignment struct {
	chosen  []named
	missing []string
	spare   []string
}

// assign gives out the ranks. An operator's pin always decides; else a node keeps the rank it had, its replacement of
// the same name takes it over, and any other newcomer takes a hole, the oldest first.
func assign(spec Spec, candidates []named, before *Round) assignment {
	rank := make(map[string]int, len(candidates))
	incarnation := make(map[string]string)
	if before != nil {
		for i, m := range before.Members {
			rank[m.Name], incarnation[m.Name] = i, m.Incarnation
		}
	} else { // a new store, to which those who knew an earlier one bring their ranks
		for _, c := range candidates {
			if c.Rank != nil {
				rank[c.name], incarnation[c.name] = *c.Rank, c.Incarnation
			}
		}
	}
	// The first get a place: pinned nodes, then members in the order of their ranks, then their replacements, then by age.
	order := func(c named) int {
		_, member := rank[c.name]
		switch {
		case c.Pin != nil:
			return 0
		case member && incarnation[c.name] == c.Incarnation:
			return 1
		case member:
			return 2
		}
		return 3
	}
	sorted := slices.Clone(candidates)
	slices.SortStableFunc(sorted, func(a, b named) int {
		if o := cmp.Compare(order(a), order(b)); o != 0 {
			return o
		}
		if order(a) == 1 {
			return cmp.Compare(rank[a.name], rank[b.name])
		}
		return cmp.Or(cmp.Compare(a.CreateRev, b.CreateRev), cmp.Compare(a.name, b.name))
	})
	if pinned(sorted) {
		return assignPinned(spec, sorted, incarnation)
	}
	return assignSticky(spec, sorted, rank, before)
}

func pinned(list []named) bool {
	return slices.ContainsFunc(list, func(c named) bool { return c.Pin != nil })
}

// assignPinned honours the pins. Of two nodes with one pin the one that had the rank keeps it, else the older gets it.
// Nodes without a pin fill what is free. Below the maximum, an elastic job closes the holes, in the order of the pins:
// ranks without holes are what training needs.
func assignPinned(spec Spec, sorted []named, incarnation map[string]string) (a assignment) {
	places := make([]*named, spec.MaxNodes)
	var rest []named
	for _, held := range []bool{true, false} {
		for _, c := range sorted {
			switch {
			case (incarnation[c.name] == c.Incarnation) != held:
			case c.Pin == nil:
				rest = append(rest, c)
			case *c.Pin >= spec.MaxNodes || places[*c.Pin] != nil:
				a.spare = append(a.spare, c.name)
			default:
				places[*c.Pin] = &c
			}
		}
	}
	for _, c := range rest {
		free := slices.Index(places, nil)
		if free < 0 {
			a.spare = append(a.spare, c.name)
			continue
		}
		places[free] = &c
	}
	for rank, c := range places {
		if c == nil {
			a.missing = append(a.missing, fmt.Sprintf("rank %d", rank))
			continue
		}
		a.chosen = append(a.chosen, *c)
	}
	size := spec.Size(len(a.chosen))
	if size == 0 {
		a.chosen = nil
		return a
	}
	a.spare = append(a.spare, names(a.chosen[size:])...)
	a.chosen = a.chosen[:size]
	return a
}

func assignSticky(spec Spec, sorted []named, rank map[string]int, before *Round) (a assignment) {
	n := spec.Size(len(sorted))
	a.missing = missing(sorted, before, spec.MaxNodes-len(sorted))
	if n == 0 {
		return a
	}
	a.spare = names(sorted[n:])
	places := make([]*named, n)
	var rest []named
	for _, c := range sorted[:n] {
		if r, found := rank[c.name]; found && r < n && places[r] == nil {
			places[r] = &c
		} else {
			rest = append(rest, c)
		}
	}
	for _, c := range rest {
		places[slices.Index(places, nil)] = &c
	}
	for _, c := range places {
		a.chosen = append(a.chosen, *c)
	}
	return a
}

// missing names those who were in the last round and are not back, as far as there is a place for them.
func missing(there []named, before *Round, places int) (list []string) {
	if before == nil || places <= 0 {
		return nil
	}
	back := make(map[string]bool, len(there))
	for _, c := range there {
		back[c.name] = true
	}
	for _, m := range before.Members {
		if !back[m.Name] && len(list) < places {
			list = append(list, m.Name)
		}
	}
	return list
}
