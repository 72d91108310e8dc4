//go:build model

package rendezvous

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// model is one exploration.
type model struct {
	mechanisms
	index  map[mKey]int32
	states []mKey
	from   []int32
	by     []string
	broken string
	limit  int
}

func newModel(m mechanisms, faults, limit int) *model {
	if m.faults > 0 {
		faults = m.faults
	}
	if m.deadline == 0 {
		m.deadline = 1
	}
	x := &model{mechanisms: m, index: map[mKey]int32{}, limit: limit}
	var s mState
	s.faults = uint8(faults)
	for i := range s.n {
		s.n[i].agent[0] = mAgent{life: mAlive, joined: 1}
		s.n[i].inc = 1
	}
	s.n[0].owner, s.n[0].lead[0].inc = 1, 1
	x.add(&s, -1, "")
	return x
}

func (x *model) add(s *mState, from int32, by string) {
	k := s.pack()
	if _, found := x.index[k]; found {
		return
	}
	x.index[k] = int32(len(x.states))
	x.states, x.from, x.by = append(x.states, k), append(x.from, from), append(x.by, by)
}

// explore looks at all states, or until something breaks.
func (x *model) explore() (whole bool) {
	for i := 0; i < len(x.states) && x.broken == ""; i++ {
		if len(x.states) > x.limit {
			return false
		}
		s := x.states[i].unpack()
		x.step(&s, func(t *mState, by string) {
			if x.broken != "" {
				return
			}
			x.add(t, int32(i), by)
			if round, other := t.overlap(); other > 0 && x.broken == "" {
				x.broken = fmt.Sprintf("R1: workers of round %d and of round %d at once\n%s", round-1, other-1,
					strings.Join(x.trace(int32(i), by), "\n"))
			}
		})
		if x.broken == "" && i%61 == 0 {
			x.peace(s, int32(i))
		}
	}
	return true
}

// trace lists the actions that lead to a state, and then more. A state does not keep the order of its names, so they
// are followed on the way.
func (x *model) trace(i int32, more ...string) (list []string) {
	path := []int32{i}
	for ; x.from[i] >= 0; i = x.from[i] {
		path = append(path, x.from[i])
	}
	slices.Reverse(path)
	order := []int{0, 1, 2}
	named := func(by string) string {
		words := strings.Fields(by)
		if w := words[len(words)-1]; len(w) == 2 && w[0] >= 'a' && w[0] <= 'c' {
			words[len(words)-1] = fmt.Sprintf("%c%c", 'a'+order[w[0]-'a'], w[1])
		}
		return strings.Join(words, " ")
	}
	for k, at := range path[1:] {
		before := x.states[path[k]].unpack()
		found := false
		x.step(&before, func(t *mState, by string) {
			if found || by != x.by[at] || t.pack() != x.states[at] {
				return
			}
			found = true
			list = append(list, named(by))
			blocks := t.names()
			places := []int{0, 1, 2}
			slices.SortStableFunc(places, func(a, b int) int { return -cmp.Compare(blocks[a], blocks[b]) })
			order = []int{order[places[0]], order[places[1]], order[places[2]]}
		})
	}
	for _, by := range more {
		list = append(list, named(by))
	}
	return list
}
