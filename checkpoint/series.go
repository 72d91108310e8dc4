package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// series is what one training run has written, as far as names and formats tell: those that can be resumed from.
type series struct {
	path      string // of its newest
	fresh     bool   // something has appeared since this run began
	optimizer bool
	lacks     bool // all of them are known to have none
	best      bool // all of them are the best so far, copies of others
	whole     bool // one of them is no part of another
	beside    bool // all of them may be parts of another's
	newest    time.Time
	at        map[int64]bool // the steps; none where none is said
	of        []int          // those of them that have the state of an optimizer where one has, by their places in the scan
}

func (x *series) add(i int, c format.Checkpoint, m History) {
	x.fresh = x.fresh || len(m.Before) > 0 && !m.lay(c)
	x.whole = x.whole || !c.Bare
	x.lacks = x.lacks && lacksOptimizer(c)
	x.best = x.best && c.OfBest()
	if c.Step >= 0 {
		x.at[c.Step] = true
	}
	if c.Modified.After(x.newest) {
		x.newest = c.Modified
	}
	if c.Optimizer && !x.optimizer {
		x.optimizer, x.of = true, nil // the others are weights of the same
	}
	if c.Optimizer == x.optimizer {
		x.of = append(x.of, i)
	}
}

// before reports whether of two series the first is to be chosen: what may be a part of another goes behind all, the best
// so far behind that of which it is a copy.
func (x *series) before(y *series) (first, tied bool) {
	switch {
	case x.beside != y.beside:
		return y.beside, false
	case x.fresh != y.fresh:
		return x.fresh, false
	case x.optimizer && y.lacks, x.lacks && y.optimizer:
		return x.optimizer, false
	case x.best != y.best && x.optimizer == y.optimizer && len(x.at) > 0 && len(y.at) > 0 &&
		(y.best && x.furthest() >= y.furthest() || x.best && y.furthest() >= x.furthest()):
		return y.best, false
	case !x.newest.Equal(y.newest):
		return x.newest.After(y.newest), false
	case x.best != y.best && x.optimizer == y.optimizer:
		return y.best, false
	}
	return x.optimizer && !y.optimizer, x.optimizer == y.optimizer
}

// furthest is the highest step.
func (x *series) furthest() int64 { return slices.Max(append(slices.Collect(maps.Keys(x.at)), -1)) }

// eligible marks those checkpoints among which one is chosen: of one series, since steps of two training runs say
// nothing of one another. It is the one in which something has appeared since this run began, else the one that was
// written last, else the only one with the state of an optimizer; where there are several, tied names a checkpoint of
// each of two.
func (p Policy) eligible(s Scan, m History) (good []bool, tied []string) {
	of := map[string]*series{}
	for i, c := range s.Checkpoints {
		if !c.Complete || !c.Resumable || c.OfWeights || m.superseded(c) {
			continue
		}
		x := of[c.Series()]
		if x == nil {
			x = &series{path: c.Path, best: true, lacks: true, at: map[int64]bool{}}
			of[c.Series()] = x
		}
		x.add(i, c, m)
	}
	markBeside(of)
	var best *series
	for _, name := range slices.Sorted(maps.Keys(of)) {
		x := of[name]
		if best == nil {
			best = x
			continue
		}
		switch first, same := x.before(best); {
		case first:
			best, tied = x, nil
		case same:
			tied = []string{best.path, x.path}
		}
	}
	good = make([]bool, len(s.Checkpoints))
	if best != nil {
		best.choose(s.Checkpoints, good)
		onlyLastRun(s.Checkpoints, good)
	}
	return good, tied
}

// markBeside finds what may be a part of another series: a buffer, a history, of the same steps as what it belongs to, or of
// none.
func markBeside(of map[string]*series) {
	whole := map[int64]bool{}
	any := false
	for _, x := range of {
		if x.whole {
			any = true
			maps.Copy(whole, x.at)
		}
	}
	for _, x := range of {
		shares := func(step int64) bool { return whole[step] }
		x.beside = any && !x.whole && (len(x.at) == 0 || len(whole) == 0 || slices.ContainsFunc(slices.Collect(maps.Keys(x.at)), shares))
	}
}

// choose marks those of a series that can be compared: numbers go before none, and steps before epochs. What says no step
// and was written clearly later than the last number goes before it: the numbers are of copies that are kept now and then.
func (x *series) choose(cs []format.Checkpoint, good []bool) {
	numbered, steps := false, false
	for _, i := range x.of {
		numbered = numbered || cs[i].Step >= 0
		steps = steps || cs[i].Step >= 0 && cs[i].Unit == format.UnitStep
	}
	after, later := x.lastNumber(cs), false
	mark := func(is func(c format.Checkpoint) bool) (found bool) {
		for _, i := range x.of {
			if is(cs[i]) {
				good[i], found = true, true
			}
		}
		return found
	}
	if numbered {
		later = mark(func(c format.Checkpoint) bool {
			return c.Step < 0 && !c.Bare && !c.OfPast() && c.Modified.After(after)
		})
	}
	if !later {
		mark(func(c format.Checkpoint) bool {
			return c.Step < 0 && !numbered || c.Step >= 0 && (c.Unit == format.UnitStep) == steps
		})
	}
}

// fewApart is how long after the only number something is clearly later.
const fewApart = 30 * time.Second

// lastNumber is when what says no step is clearly later than the last that does: half as long after it as it was after the
// one before it.
func (x *series) lastNumber(cs []format.Checkpoint) time.Time {
	var times []time.Time
	for _, i := range x.of {
		if cs[i].Step >= 0 {
			times = append(times, cs[i].Modified)
		}
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	switch {
	case len(times) == 0:
		return time.Time{}
	case len(times) == 1:
		return times[0].Add(fewApart)
	}
	return times[0].Add(max(times[0].Sub(times[1])/2, time.Second))
}

// statesTogether reports whether of several directories all hold weights alone, each whole, but for one, or for those that
// differ in their numbers alone and were written by the same program: the weights are those of the states there. What is called
// best goes without saying where one other has a state that is as far, by the same program.
func (p Policy) statesTogether(s Scan, m History, other string, now time.Time) bool {
	if s.Unseen > 0 {
		return false
	}
	var in, writers []string
	best, others := int64(-1), int64(-1) // how far
	for _, c := range s.Checkpoints {
		if what, _, _ := p.weigh(c, m, other, now); what == model || what == state && c.Reason == problem.WeightsOnly {
			continue
		}
		for _, dir := range s.Below {
			if c.Path != dir && !strings.HasPrefix(c.Path, dir+"/") {
				continue
			}
			in, writers = append(in, dir), append(writers, c.Format)
			if format.BestDir(dir) {
				best = max(best, c.Step)
			} else {
				others = max(others, c.Step)
			}
		}
	}
	slices.Sort(in)
	slices.Sort(writers)
	in, writers = slices.Compact(in), slices.Compact(writers)
	if rest := slices.DeleteFunc(slices.Clone(in), format.BestDir); len(rest) == 1 && len(writers) == 1 && best <= others {
		in = rest
	}
	return len(in) < 2 || format.Versions(in) && len(writers) == 1
}

// notAll says that there may be more.
func notAll(unseen int) string {
	if unseen == 0 {
		return ""
	}
	return fmt.Sprintf(" and perhaps in %d more", unseen)
}
