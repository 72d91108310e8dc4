package format

import (
	"cmp"
	"math"
	"slices"
)

// Together reads of checkpoints that belong together what one by itself does not say: which of several counts is the step.
// Where the names of some have numbers, and these agree with another count than the one that is taken otherwise, it is that
// one for those without a number too. So is one that could
// as well say how much there will be, where it grows from save to save. Where a later epoch has fewer steps, these are of the epoch. Weights of each step
// beside what training continues with are not whole where that of the last step is missing. The state of an optimizer is one
// only with a model. What was saved in the same moment as a state that says no step tells it.
func Together(cs []*Checkpoint) {
	agree(cs)
	grown(cs)
	epochs(cs)
	batches(cs)
	parted(cs)
	optimizers(cs)
	moments(cs)
}

// epochs counts the epochs of a series whose steps start over in each of them.
func epochs(cs []*Checkpoint) {
	series := map[string][]int{}
	of := func(c *Checkpoint) int64 { return c.counted(UnitEpoch) }
	anew := map[string]bool{}
	for i, c := range cs {
		if c.save == nil || of(c) < 0 || c.counted(UnitStep) < 0 {
			continue
		}
		for _, k := range series[c.series] {
			a, b := c, cs[k]
			if of(a) > of(b) {
				a, b = b, a
			}
			anew[c.series] = anew[c.series] || of(a) < of(b) && a.counted(UnitStep) > b.counted(UnitStep)
		}
		series[c.series] = append(series[c.series], i)
	}
	for name := range anew {
		for _, i := range series[name] {
			if anew[name] {
				cs[i].Step, cs[i].Unit, cs[i].StepFrom = of(cs[i]), UnitEpoch, StepFromContent
			}
		}
	}
}

// batches takes the second of two numbers in the names of a series for a count within the epoch, which is the first, where the files
// say that epoch and no save is of another: recovery-3-400. In the first epoch both are steps.
func batches(cs []*Checkpoint) {
	epoch := map[string]int64{} // of each series; -1: it is not so
	is := func(c *Checkpoint) bool {
		return c.save != nil && c.save.major != "" && !c.save.named && c.Unit == UnitStep && c.StepFrom == StepFromName
	}
	for _, c := range cs {
		n, seen := epoch[c.series]
		switch e := c.counted(UnitEpoch); {
		case !is(c):
			epoch[c.series] = -1
		case e < 2 || e != c.save.epoch() || seen && e != n:
			epoch[c.series] = -1
		default:
			epoch[c.series] = e
		}
	}
	for _, c := range cs {
		if n := epoch[c.series]; n > 0 {
			c.Step, c.Unit, c.StepFrom = n, UnitEpoch, StepFromContent
		}
	}
}

// counted is what a save says of a unit, -1 when it says nothing.
func (c *Checkpoint) counted(unit Unit) int64 {
	if c.Unit == unit && c.Step >= 0 {
		return c.Step
	}
	i := slices.IndexFunc(c.counts, func(t tally) bool { return t.unit == unit })
	if i < 0 {
		return -1
	}
	return c.counts[i].n
}

// agree takes of several counts the one with which the names of a series agree.
func agree(cs []*Checkpoint) {
	agreed := map[string]string{} // by series, the key under which the numbers of names stand
	for _, c := range cs {
		if c.save == nil || c.save.title.step < 0 || c.save.title.unit != UnitStep {
			continue
		}
		i := slices.IndexFunc(c.counts, func(t tally) bool { return t.n == c.save.title.step && t.unit == UnitStep })
		if i >= 0 && agreed[c.series] == "" {
			agreed[c.series] = c.counts[i].key
		}
	}
	for _, c := range cs {
		if c.save == nil || c.save.title.step >= 0 || agreed[c.series] == "" {
			continue
		}
		if k := slices.IndexFunc(c.counts, func(t tally) bool { return t.key == agreed[c.series] }); k >= 0 {
			c.Step, c.Unit, c.StepFrom = c.counts[k].n, c.counts[k].unit, StepFromContent
		}
	}
}

// WasBefore reports whether a checkpoint is by its name what another was before: checkpoint_prev0.ckpt, last.pt.bak.
func (c *Checkpoint) WasBefore() bool {
	return c.save != nil && c.InPlace && beforeWords[c.save.title.slot]
}

var beforeWords = set("prev previous bak backup orig old")

// dateDigits are the fewest of a date. What is shorter is the number of a copy.
const dateDigits = 6

// ByDate finds of saves that have dates for steps in their names those of an earlier training run: they were written before
// another and say that they are further. It takes the places of those that may be chosen, and returns the ones that stay.
func ByDate(cs []Checkpoint, places []int) []int {
	order := slices.SortedStableFunc(slices.Values(places), func(a, b int) int {
		return cmp.Or(cs[b].Modified.Compare(cs[a].Modified), cmp.Compare(cs[b].Step, cs[a].Step))
	})
	lowest, earlier := int64(math.MaxInt64), map[int]bool{}
	for _, i := range order {
		if c := cs[i]; c.save != nil && len(c.save.title.when) >= dateDigits && c.save.title.step < 0 && c.Step >= 0 {
			if earlier[i] = c.Step >= lowest; !earlier[i] {
				lowest = c.Step
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(places), func(i int) bool { return earlier[i] })
}
