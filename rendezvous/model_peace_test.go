//go:build model

package rendezvous

import (
	"fmt"
	"strings"
)

// peace follows a state without any more faults: everybody does what it can, and time passes when nobody can. The job
// must come to a round that runs on all its members.
func (x *model) peace(s mState, from int32) {
	s.faults = 0
	var path []string
	for range 400 {
		if s.runs() || s.round == 3 {
			return
		}
		var chosen mState
		var did string
		best := 0
		x.step(&s, func(t *mState, by string) {
			rank := 3
			switch {
			case t.pack() == s.pack():
				return
			case by == "tick":
				rank = 1
			case strings.HasPrefix(by, "expire"), strings.HasPrefix(by, "leads no more"):
				rank = 2
			}
			if rank > best {
				best, chosen, did = rank, *t, by
			}
		})
		if best == 0 {
			break
		}
		s = chosen
		path = append(path, did)
	}
	alive := 0
	for i := range s.n {
		if s.n[i].agent[0].acts() || s.n[i].agent[1].acts() {
			alive++
		}
	}
	if alive >= 2 {
		x.broken = "no progress when left in peace\n" + strings.Join(x.trace(from), "\n") + "\nin peace:\n" + strings.Join(path[:min(len(path), 60)], "\n") + fmt.Sprintf("\n%+v", s)
	}
}
