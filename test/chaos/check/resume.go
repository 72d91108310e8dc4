package check

import (
	"fmt"

	"github.com/gangrun/gangrun/test/chaos/history"
)

// R4: what a round begins at, and what of the saves is left.

func oneResumePoint(v *view) (wrong []string) {
	for _, round := range v.rounds {
		first := v.opens[round][0]
		for _, r := range v.opens[round] {
			if r.Step != first.Step || r.Decision != first.Decision || r.World != first.World || r.Meet != first.Meet {
				wrong = append(wrong, fmt.Sprintf("%s begins at %s (%s of %d ranks, %s), %s at %s (%s of %d, %s)", who(r), at(r), r.Decision,
					r.World, r.Meet, who(first), at(first), first.Decision, first.World, first.Meet))
			}
			if r.Made != first.Made && r.Step == first.Step {
				wrong = append(wrong, fmt.Sprintf("%s is given what round %d has saved, %s what round %d has, both of %s",
					who(r), r.Made, who(first), first.Made, at(r)))
			}
			if r.State != v.states[r.Step] {
				wrong = append(wrong, fmt.Sprintf("%s was given %s, and what is in it is not that step's: %s", who(r), at(r), r.Path))
			}
		}
	}
	return wrong
}

// nothingLost follows what is whole on each disk. What is newer than the point at which a round begins belongs to a
// branch that was given up.
func nothingLost(v *view) (wrong []string) {
	disks := map[string]map[int]bool{}
	disk := func(node string) map[int]bool {
		if !v.Own {
			node = "all"
		}
		if disks[node] == nil {
			disks[node] = map[int]bool{0: true}
		}
		return disks[node]
	}
	for _, round := range v.rounds {
		newest := 0
		for step := range disk(v.opens[round][0].Node) {
			all := true
			for _, node := range v.disks() { // also of those whose workers were stopped before they could write a line
				all = all && disk(node)[step]
			}
			if all {
				newest = max(newest, step)
			}
		}
		given := v.opens[round][0]
		if given.Step < newest {
			wrong = append(wrong, fmt.Sprintf("%s was given %s, and step %d was whole for all", who(given), at(given), newest))
		}
		for _, steps := range disks {
			for step := range steps {
				if step > given.Step {
					delete(steps, step)
				}
			}
		}
		for _, r := range v.Records {
			if r.Round == round && r.Kind == history.Saved {
				disk(r.Node)[r.Step] = true
			}
		}
	}
	return wrong
}

// disks are the nodes that have one: all of them, where they are not elastic, or one for all.
func (v *view) disks() (nodes []string) {
	if !v.Own {
		return []string{"all"}
	}
	for i := range v.Nodes {
		nodes = append(nodes, fmt.Sprint("n", i))
	}
	return nodes
}

// onAllDisks wants nobody to be given what is not on the disk of each node: a round without one that cannot begin is
// none. A save of which only the beginning was written down may be whole.
func onAllDisks(v *view) (wrong []string) {
	nodes := v.disks()
	disks := map[string]map[int]bool{}
	for _, node := range nodes {
		disks[node] = map[int]bool{0: true}
	}
	for _, round := range v.rounds {
		given := v.opens[round][0]
		for _, node := range nodes {
			if !disks[node][given.Step] {
				wrong = append(wrong, fmt.Sprintf("%s was given %s, which is not on the disk of %s", who(given), at(given), node))
			}
			for step := range disks[node] {
				if step > given.Step {
					delete(disks[node], step)
				}
			}
		}
		for _, r := range v.Records {
			disk := disks["all"]
			if v.Own {
				disk = disks[r.Node]
			}
			switch {
			case r.Round != round || disk == nil:
			case r.Kind == history.Save:
				disk[r.Step] = true
			case r.Kind == history.Cut:
				delete(disk, r.Step)
			}
		}
	}
	return wrong
}
