package format

import (
	"path"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// parted refuses the last of weights of each step where each before it, and not it, has beside it, in the same directory, what training continues with: a
// part of that save is missing. The steps of the two series are the same but for that.
func parted(cs []*Checkpoint) {
	weights, states := map[string]map[int64]*Checkpoint{}, map[string]map[int64]*Checkpoint{}
	for _, c := range cs {
		of := states
		switch {
		case c.save == nil || c.Step < 0 || !c.Complete:
			continue
		case !c.Training && !c.Resumable && !c.Data:
			of = weights
		case !c.noWeights:
			continue
		}
		if of[c.series] == nil {
			of[c.series] = map[int64]*Checkpoint{}
		}
		of[c.series][c.Step] = c
	}
	for _, w := range weights {
		for _, s := range states {
			last, state := lastWithout(w, s)
			if last == nil || path.Dir(last.Path) != path.Dir(state.Path) || last.save.unit != state.save.unit || last.Modified.Before(state.Modified) {
				continue
			}
			last.Complete, last.Reason = false, problem.MissingShard
			last.Detail = last.Path + " is without what " + path.Base(state.Path) + " has of the save before it"
		}
	}
}

// lastWithout is the last of these weights where it alone has no state, and the last state; nil where there are other differences.
func lastWithout(weights, states map[int64]*Checkpoint) (last, state *Checkpoint) {
	if len(states) < 2 || len(weights) != len(states)+1 {
		return nil, nil
	}
	for step, w := range weights {
		if s := states[step]; s == nil {
			last = w
		} else if state == nil || s.Step > state.Step {
			state = s
		}
		if last != nil && last.Step < step {
			return nil, nil
		}
	}
	if state == nil || last == nil || last.Step < state.Step {
		return nil, nil
	}
	return last, state
}
