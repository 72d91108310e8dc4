package checkpoint

import (
	"fmt"
	"slices"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// further reports whether what says above how far training was, written with weights beside it, says more than all of these and was
// written later: they are what was put aside before.
func (s *surveyed) further(states []format.Checkpoint) bool {
	return slices.ContainsFunc(s.known, func(t format.Checkpoint) bool {
		return teller(t) && t.Complete && t.Resumable && t.Step >= 0 &&
			!slices.ContainsFunc(states, func(c format.Checkpoint) bool {
				return c.Step < 0 || c.Step >= t.Step || !c.Modified.Before(t.Modified)
			}) &&
			slices.ContainsFunc(s.known, func(c format.Checkpoint) bool {
				return c.Complete && !c.Resumable && !c.Training && !c.Data && c.InPlace && t.SameMoment(c)
			})
	})
}

// milestones reports whether these states are what the one file above, cut while it was written over, has been before: they lie in a
// directory that is there for such by its name, and have no other name of their own.
func (s *surveyed) milestones(found format.Found, states []format.Checkpoint) bool {
	if s.level != 0 || len(s.all) == 0 || len(found.Below) != 1 || found.Apart || !format.ForStates(found.Below[0]) {
		return false
	}
	return !slices.ContainsFunc(s.all, func(c format.Checkpoint) bool {
		return c.Complete || !c.InPlace || c.Reason.Unknown() ||
			slices.ContainsFunc(states, func(b format.Checkpoint) bool {
				return !b.Optimizer || b.Step < 0 || !b.SameName(c) || b.Modified.After(c.Modified)
			})
	})
}

// deeper looks one level down in the directories that are there for checkpoints by their names: a program may keep those that it writes
// by steps below those that it writes by epochs. Where they were written later and are further, and by the same library, both are
// of one training run; else nil.
func deeper(d *format.Descent, found format.Found, looked []format.Checkpoint, look func(format.Found) []format.Checkpoint) ([]format.Checkpoint, error) {
	known := surveyed{known: looked}
	next := *d
	other, ok, err := next.Next(func(dir string) bool { return !format.ForStates(dir) || known.holds(dir) })
	if err != nil || !ok || len(other.Checkpoints) == 0 {
		return nil, err
	}
	state := func(c format.Checkpoint) bool {
		return c.Complete && c.Resumable && c.Training && !c.Bare && !c.NoModel
	}
	further := slices.ContainsFunc(look(other), func(b format.Checkpoint) bool {
		return state(b) && b.Step >= 0 && !slices.ContainsFunc(looked, func(c format.Checkpoint) bool {
			return c.Format != b.Format || !c.Complete || c.Step < 0 || c.Step >= b.Step || c.Unit != b.Unit || !c.Modified.Before(b.Modified)
		})
	})
	if !further {
		return nil, nil
	}
	other.Checkpoints = append(slices.Clone(found.Checkpoints), other.Checkpoints...)
	other.Below, other.Apart = append(slices.Clone(found.Below), other.Below...), false
	return look(other), nil
}

// partsTogether takes the directories of the parts of a model for one: that of the chief part stands for all. Only where each has
// whole ones of the same steps: those who read them go by a pointer in each.
func partsTogether(cs []format.Checkpoint, chief string) ([]format.Checkpoint, bool) {
	of := map[string][]int64{}
	for _, c := range cs {
		if !c.Complete || !c.Resumable || c.Step < 0 {
			return nil, false
		}
		of[c.Root] = append(of[c.Root], c.Step)
	}
	slices.Sort(of[chief])
	for _, steps := range of {
		if slices.Sort(steps); !slices.Equal(steps, of[chief]) {
			return nil, false
		}
	}
	cs = slices.Clone(cs)
	for i := range cs {
		if c := &cs[i]; c.Root != chief {
			c.OfWeights, c.Tells = true, true
		}
	}
	return cs, true
}

// ranksTogether takes the directories of the ranks for one: a step is whole where each of them has it.
func ranksTogether(cs []format.Checkpoint, ranks int) []format.Checkpoint {
	has := map[int64]map[string]bool{}
	for _, c := range cs {
		if c.Complete && c.Step >= 0 {
			if has[c.Step] == nil {
				has[c.Step] = map[string]bool{}
			}
			has[c.Step][c.Root] = true
		}
	}
	cs = slices.Clone(cs)
	for i := range cs {
		if c := &cs[i]; c.Complete && c.Step >= 0 && len(has[c.Step]) < ranks {
			c.Complete, c.Resumable, c.Reason = false, false, problem.MissingRankState
			c.Detail = fmt.Sprintf("%s: %d of %d directories of ranks have its step", c.Path, len(has[c.Step]), ranks)
		}
	}
	return cs
}
