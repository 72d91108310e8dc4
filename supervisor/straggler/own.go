package straggler

import (
	"slices"
	"time"
)

// What is put together to a minute.
const (
	minute     = time.Minute
	fewest     = 3         // steps of a rank
	mostSample = 64        // own times of a rank, evenly over the minute; even
	longest    = time.Hour // that anything may have taken
)

// Own is the ranks' own part of their steps, minute by minute, to be compared with other nodes: it does not depend on their
// clocks. A nil Own is empty.
type Own struct {
	ranks  map[int]*sample
	began  time.Time // with the first step
	latest *Minute
}

// sample is what one rank has told in a minute.
type sample struct {
	own         []time.Duration
	every, told int   // every how manieth of those that were told is in own
	step        int64 // that was told last
	counts      bool  // it is the last one in own
	first, last time.Time
}

// Minute is about a minute; longer, where steps are.
type Minute struct {
	Number    int           // from 1 on
	Own, Step time.Duration // the median of the ranks
	Steps     int           // of the rank that has told most
	Rank      int           // that takes longest
	RankOwn   time.Duration // which takes so long
}

// NewOwn has heard of no rank yet.
func NewOwn() *Own { return &Own{ranks: map[int]*sample{}} }

// Told notes that a rank has finished a step, of which so much was its own. Reports without that, and of earlier steps, do
// not count. A step that is reported again, as for each batch where gradients are accumulated, has taken so much more.
func (o *Own) Told(rank int, step int64, own time.Duration, at time.Time) {
	if o == nil || own <= 0 || own > longest {
		return
	}
	if o.began.IsZero() {
		o.began = at
	}
	s := o.ranks[rank]
	if s == nil {
		if len(o.ranks) >= mostRank {
			return
		}
		s = &sample{every: 1, step: -1}
		o.ranks[rank] = s
	}
	switch {
	case !at.After(s.last):
	case step != s.step:
		s.step = step
		s.add(own, at)
	case s.counts:
		sum := &s.own[len(s.own)-1]
		*sum = min(*sum+own, longest)
	}
}

func (s *sample) add(own time.Duration, at time.Time) {
	if s.told == 0 {
		s.first = at
	}
	s.last, s.counts = at, s.told%s.every == 0
	if s.counts {
		if len(s.own) == mostSample { // every other one is enough from now on
			for i := range mostSample / 2 {
				s.own[i] = s.own[2*i]
			}
			s.own, s.every = s.own[:mostSample/2], 2*s.every
		}
		s.own = append(s.own, own)
	}
	s.told++
}

// Latest is the last minute that is over; nil before the first.
func (o *Own) Latest(now time.Time) *Minute {
	if o == nil {
		return nil
	}
	if !o.began.IsZero() && now.Sub(o.began) >= minute {
		o.close()
	}
	return o.latest
}

// close puts a minute together, if there is enough of it.
func (o *Own) close() {
	m := Minute{Number: 1, Rank: -1}
	if o.latest != nil {
		m.Number = o.latest.Number + 1
	}
	var own, step []time.Duration
	for rank, s := range o.ranks {
		m.Steps = max(m.Steps, s.told)
		if s.told < 2 {
			continue
		}
		slices.Sort(s.own)
		typical := lower(s.own)
		own = append(own, typical)
		step = append(step, min(s.last.Sub(s.first)/time.Duration(s.told-1), longest))
		if typical > m.RankOwn || typical == m.RankOwn && rank < m.Rank {
			m.Rank, m.RankOwn = rank, typical
		}
	}
	if m.Steps < fewest {
		return
	}
	slices.Sort(own)
	slices.Sort(step)
	m.Own, m.Step = lower(own), lower(step)
	o.latest, o.began = &m, time.Time{}
	for rank, s := range o.ranks {
		if s.told == 0 { // it tells nothing any more
			delete(o.ranks, rank)
			continue
		}
		o.ranks[rank] = &sample{every: 1, step: s.step, last: s.last}
	}
}

// lower is the median, of two in the middle the lower one: one of two slow ranks is named on its node, and makes no slow
// node.
func lower(sorted []time.Duration) time.Duration { return sorted[(len(sorted)-1)/2] }
