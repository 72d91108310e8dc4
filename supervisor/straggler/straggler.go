// Package straggler finds the rank for which the others wait, step after step, although all make progress. In synchronous
// training the slowest rank sets the pace and every rank ends its steps at the same time, so the length of a step says
// nothing. Two other things do. The better one is the part of a step that was a rank's own, in which it waited for no
// other rank: loading data, the forward pass. If not all ranks report that, it is how much later than the others a rank
// comes to the same step: ranks that wait have come before. Ranks that report a step only after they have waited come
// together, and none is named.
//
// It is pure: ranks, steps and times go in, and names come out. What it remembers is bounded.
package straggler

import (
	"slices"
	"time"
)

// When a rank is a straggler. Ranks of the same speed are each late in less than half of the steps, whatever the noise.
const (
	window   = 50   // steps that count
	often    = 0.8  // of them it was late
	seldom   = 0.5  // of them: it is none any more
	late     = 1.05 // times what the others took
	more     = 1.1  // times, on average
	ofStep   = 0.01 // of the whole step, at least
	mostOpen = 8    // steps that not all ranks have told yet
	mostRank = 4096
)

// Watch follows the ranks of one node in one round.
type Watch struct {
	ranks map[int]*rank
	open  []*step // oldest first
	last  int64   // the newest step that all have told
	some  bool    // there was one
	ended time.Time
}

// rank is how late one was in the newest steps.
type rank struct {
	past  []past // as a ring, once it is full
	next  int
	named bool
}

// past is a rank in one step.
type past struct {
	late          bool
	excess        time.Duration // over the others; less than zero where it was faster
	others, whole time.Duration
}

// step is one that ranks have told.
type step struct {
	number int64
	told   map[int]told
}

type told struct {
	at  time.Time
	own time.Duration // 0: it has not said
}

// Named is a rank for which the others wait, or waited.
type Named struct {
	Rank int
	Over bool // it is none any more
	// Own says that the ranks have told what of a step was their own; else it is by when they come to the same step.
	Own         bool
	Late, Steps int           // it was late in so many of so many steps
	Excess      time.Duration // on average, by which it took longer than the others
	Step        time.Duration // the average length of a step
}

// New is a watch that knows of no rank yet.
func New() *Watch { return &Watch{ranks: map[int]*rank{}} }

// Off is a watch that names nobody.
func Off() *Watch { return &Watch{} }

// Expect makes a rank known before it reports anything.
func (w *Watch) Expect(number int) {
	if w.ranks != nil && w.ranks[number] == nil && len(w.ranks) < mostRank {
		w.ranks[number] = &rank{}
	}
}

// Told notes that a rank has finished a step, of which so much was its own; 0 if it does not say. It returns the ranks about
// which this is news.
func (w *Watch) Told(number int, at int64, own time.Duration, now time.Time) (named []Named) {
	w.Expect(number)
	if w.ranks[number] == nil {
		return nil
	}
	if w.some && at <= w.last {
		if w.last-at <= mostOpen {
			return nil // too late by whole steps: those ranks do not wait for each other
		}
		w.forget()
	}
	i := slices.IndexFunc(w.open, func(s *step) bool { return s.number == at })
	if i < 0 {
		w.open = append(w.open, &step{at, map[int]told{}})
		i = len(w.open) - 1
	}
	s := w.open[i]
	if _, again := s.told[number]; !again {
		s.told[number] = told{now, own}
	}
	switch {
	case len(s.told) == len(w.ranks):
		named = w.over(s)
		w.open = slices.Delete(w.open, 0, i+1) // those before will not be told any more
	case len(w.open) > mostOpen:
		w.open = slices.Delete(w.open, 0, 1)
	}
	return named
}

// forget starts over with the steps, as an epoch does that counts from 0.
func (w *Watch) forget() {
	w.open, w.some, w.ended = nil, false, time.Time{}
}

// over handles a step that all ranks have reported.
func (w *Watch) over(s *step) (named []Named) {
	var end time.Time
	own := true
	for _, t := range s.told {
		if t.at.After(end) {
			end = t.at
		}
		own = own && t.own > 0
	}
	whole := end.Sub(w.ended)
	steps := s.number - w.last
	first := !w.some
	w.last, w.some, w.ended = s.number, true, end
	if first || len(s.told) < 2 || steps != 1 || whole <= 0 {
		return nil
	}
	took := make(map[int]time.Duration, len(s.told))
	all := make([]time.Duration, 0, len(s.told))
	for number, t := range s.told {
		took[number] = t.own
		if !own {
			took[number] = max(whole-end.Sub(t.at), 0) // from the end of the step before, when all went on
		}
		all = append(all, took[number])
	}
	slices.Sort(all)
	for number, t := range took {
		others := median(all, t)
		r := w.ranks[number]
		r.add(past{late: float64(t) > late*float64(others), excess: t - others, others: others, whole: whole})
		if n, news := r.judge(); news {
			n.Rank, n.Own = number, own
			named = append(named, n)
		}
	}
	slices.SortFunc(named, func(a, b Named) int { return a.Rank - b.Rank })
	return named
}

// median is that of all but one; of two in the middle the greater one.
func median(sorted []time.Duration, but time.Duration) time.Duration {
	without, _ := slices.BinarySearch(sorted, but)
	middle := (len(sorted) - 1) / 2
	if middle >= without {
		middle++
	}
	return sorted[middle]
}

func (r *rank) add(p past) {
	if len(r.past) < window {
		r.past = append(r.past, p)
		return
	}
	r.past[r.next] = p
	r.next = (r.next + 1) % window
}

// judge says whether the rank is a straggler, if that has changed.
func (r *rank) judge() (n Named, news bool) {
	if len(r.past) < window {
		return n, false
	}
	var excess, others, whole time.Duration
	n.Steps = len(r.past)
	for _, p := range r.past {
		if p.late {
			n.Late++
		}
		excess, others, whole = excess+p.excess, others+p.others, whole+p.whole
	}
	n.Excess, n.Step = excess/window, whole/window
	was := r.named
	switch share := float64(n.Late) / window; {
	case share >= often && float64(excess) >= (more-1)*float64(others) && float64(excess) >= ofStep*float64(whole):
		r.named = true
	case share < seldom:
		r.named = false
	}
	n.Over = !r.named
	return n, r.named != was
}
