package format

import "slices"

// Together reads of checkpoints that belong together what one by itself does not say: which of several counts is the step.
// Where the names of some have numbers, and these agree with another count than the one that is taken otherwise, it is that
// one for those without a number too.
func Together(cs []Checkpoint) {
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
	for i := range cs {
		c := &cs[i]
		if c.save == nil || c.save.title.step >= 0 || agreed[c.series] == "" {
			continue
		}
		if k := slices.IndexFunc(c.counts, func(t tally) bool { return t.key == agreed[c.series] }); k >= 0 {
			c.Step, c.Unit, c.StepFrom = c.counts[k].n, c.counts[k].unit, StepFromContent
		}
	}
}
