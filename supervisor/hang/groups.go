package hang

import (
	"fmt"
	"slices"
)

// Group is a process group of some of the job's ranks, as one of them sees it.
type Group struct {
	Name string // the same in all of its ranks
	What string // for a person
	// Joined is the number of the last collective that the rank has enqueued there, Completed of the last that has
	// come to its end. Call is the first that has not; empty where it is not known.
	Joined, Completed int64
	Call              string
	// Terms are what all members have to agree on in it, such as which collective it is; empty where they are not known.
	Terms string
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

// awaited are those of them that wait for nobody.
func (w *waits) awaited(m member) []int {
	return slices.DeleteFunc(w.missing(m.Group), func(o int) bool {
		return o == m.stand || w.stands[o].Pairs || w.waits(o)
	})
}

// lacks says what somebody has not joined in which a rank stands.
func (g Group) lacks(stands string) string {
	says := fmt.Sprintf("it has not joined collective %d of %s, in which %s stands", g.Completed+1, g.What, stands)
	if g.Call != "" {
		says += ": " + g.Call
	}
	return says
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

// waitsIn says in which collective a rank waits, by the first of its groups in which it does.
func waitsIn(s Stand) string {
	for _, g := range s.Groups {
		if g.Joined > g.Completed {
			says := fmt.Sprintf("it waits in collective %d of %s", g.Completed+1, g.What)
			if g.Call != "" {
				says += ": " + g.Call
			}
			return says
		}
	}
	return ""
}

// byGroups finds the only one that others wait for and that itself waits for nobody. Who waits for it may be waited
// for, too: then that one is not to blame. Where two wait for each other, as where ranks call in different orders, or
// where members elsewhere may be waited for, nothing follows.
func byGroups(stands []Stand) (int, string) {
	guilty, why, size := -1, "", 0
	w := newWaits(stands)
	for i, s := range stands {
		for _, g := range s.Groups {
			for _, o := range w.awaited(member{i, g}) {
				if guilty >= 0 && guilty != o {
					return -1, ""
				}
				if n := len(w.of[g.Name]); guilty < 0 || n < size { // the smaller group says more
					guilty, size, why = o, n, g.lacks(s.Name)
				}
			}
		}
	}
	if guilty >= 0 {
		why += at(stands[guilty])
	}
	return guilty, why
}
