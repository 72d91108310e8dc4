package notify

import (
	"slices"
	"time"
)

// Stopping is what the ranks that report here have said about a save that all make.
type Stopping struct {
	Looks   bool      // there are some, and all have said that they look at the file that tells the step
	Blind   []int     // those that have not; -1 for one that does not say which it is
	Most    *int64    // the step of the one that has come furthest; nil when none has told any
	MostAt  time.Time // when it told that
	Leaving bool      // all have said that they are about to end, and have told no step since
}

func (s *Socket) stopping() Stopping {
	said := Stopping{Looks: len(s.ranks) > 0, Leaving: len(s.ranks) > 0}
	for n, r := range s.ranks {
		if !r.looks {
			said.Looks = false
			said.Blind = append(said.Blind, n)
		}
		if r.step != nil && (said.Most == nil || *r.step > *said.Most || *r.step == *said.Most && r.at.Before(said.MostAt)) {
			said.Most, said.MostAt = r.step, r.at
		}
		said.Leaving = said.Leaving && r.phase == PhaseExit && !r.stepped
	}
	slices.Sort(said.Blind)
	return said
}
