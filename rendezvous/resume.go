package rendezvous

import (
	"fmt"
	"slices"
)

// common lists the checkpoint steps that all of the nodes can read, newest first. known is false when a node has not
// looked: then nothing is known about any.
func common(nodes []named) (steps []int64, known bool) {
	count := make(map[int64]int)
	for _, n := range nodes {
		if n.Checkpoints == nil {
			return nil, false
		}
		own := slices.Clone(n.Checkpoints)
		slices.Sort(own)
		for _, step := range slices.Compact(own) {
			count[step]++
		}
	}
	for step, n := range count {
		if n == len(nodes) {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	slices.Reverse(steps)
	return steps, len(nodes) > 0
}

// chooseResume picks the one checkpoint that a round starts from: the newest that all members have or, after the same
// failure twice, the one before it. It is an error when training had come further than what is left: a silent start
// from further back, or from nothing, is worse than an end.
func chooseResume(nodes []named, reached *int64, fallback bool) (Resume, error) {
	steps, known := common(nodes)
	switch {
	case !known:
		return Resume{Decision: ResumeFresh}, nil
	case reached != nil && len(steps) == 0:
		return Resume{}, fmt.Errorf(
			"step %d had been reached, and no complete checkpoint common to all nodes is left", *reached)
	case reached != nil && steps[0] < *reached:
		return Resume{}, fmt.Errorf(
			"step %d had been reached, and the newest complete checkpoint common to all nodes is of step %d",
			*reached, steps[0])
	case len(steps) == 0:
		return Resume{Decision: ResumeFresh}, nil
	case fallback && len(steps) > 1:
		return Resume{Decision: ResumeFallback, Step: &steps[1]}, nil
	}
	return Resume{Decision: ResumeNewest, Step: &steps[0]}, nil
}

// progress is how far the round's members say they have come.
func progress(members []member) (p Progress, older bool) {
	var nodes []named
	for _, m := range members {
		if !m.own {
			continue
		}
		nodes = append(nodes, named{m.Name, m.entry})
		if s := m.entry.Step; s != nil && (p.Step == nil || *s > *p.Step) {
			p.Step = s
		}
	}
	if steps, _ := common(nodes); len(steps) > 0 {
		p.Checkpoint, older = &steps[0], len(steps) > 1
	}
	return p, older
}
