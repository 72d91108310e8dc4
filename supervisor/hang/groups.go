package hang

import "fmt"

// Group is a process group of some of the job's ranks, as one of them sees it.
type Group struct {
	Name string // the same in all of its ranks
	What string // for a person
	// Joined is the number of the last collective that the rank has enqueued there, Completed of the last that has
	// come to its end. Call is the first that has not; empty where it is not known.
	Joined, Completed int64
	Call              string
	// Whole says that all members are among the stands.
	Whole bool
}

// waits are who waits for whom in process groups: a rank stands in a collective of one that another member has not
// joined.
type waits struct {
	stands []Stand
	of     map[string][]member
}

type member struct {
	stand int
	Group
}

func newWaits(stands []Stand) *waits {
	w := &waits{stands, map[string][]member{}}
	for i, s := range stands {
		for _, g := range s.Groups {
			w.of[g.Name] = append(w.of[g.Name], member{i, g})
		}
	}
	return w
}

// missing are the members that have not joined the collective in which a member stands.
func (w *waits) missing(m Group) (stands []int) {
	if m.Joined <= m.Completed {
		return nil
	}
	for _, o := range w.of[m.Name] {
		if o.Joined <= m.Completed {
			stands = append(stands, o.stand)
		}
	}
	return stands
}

// waits reports whether a rank waits for others in a group, or may: what it stands in is over only where another has
// it behind itself, or all its members have joined.
func (w *waits) waits(i int) bool {
	for _, g := range w.stands[i].Groups {
		if g.Joined <= g.Completed {
			continue
		}
		over, joined := false, g.Whole
		for _, o := range w.of[g.Name] {
			over = over || o.Completed > g.Completed
			joined = joined && o.Joined > g.Completed
		}
		if !over && !joined {
			return true
		}
	}
	return false
}

// byGroups finds the only one that others wait for and that itself waits for nobody. Who waits for it may be waited
// for, too: then that one is not to blame. Where two wait for each other, as where ranks call in different orders, or
// where members elsewhere may be waited for, nothing follows.
func byGroups(stands []Stand) (int, string) {
	guilty, why, size := -1, "", 0
	w := newWaits(stands)
	for i, s := range stands {
		for _, g := range s.Groups {
			for _, missing := range w.missing(g) {
				if missing == i || stands[missing].Pairs || w.waits(missing) {
					continue
				}
				if guilty >= 0 && guilty != missing {
					return -1, ""
				}
				if n := len(w.of[g.Name]); guilty < 0 || n < size { // the smaller group says more
					guilty, size, why = missing, n, fmt.Sprintf("it has not joined collective %d of %s, in which %s stands", g.Completed+1, g.What, stands[i].Name)
					if g.Call != "" {
						why += ": " + g.Call
					}
				}
			}
		}
	}
	if guilty >= 0 {
		why += at(stands[guilty])
	}
	return guilty, why
}
