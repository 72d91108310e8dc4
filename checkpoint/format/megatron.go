package format

import (
	"fmt"
	"slices"
	"strings"
)

// megatron is the checkpoints of Megatron-LM and of what is built on it: Megatron-Bridge, NeMo 2. Names and order are
// those of megatron/training/checkpointing.py.
var megatron = kind{name: "megatron", find: findMegatron, check: checkMegatron, claims: claimedByMegatron, trainer: true, movable: true, pointer: &iterationPointer}

// iterationTracker names the newest iteration. verl and Megatron-DeepSpeed write one of the same name.
const iterationTracker = "latest_checkpointed_iteration.txt"

// megatronRelease is the directory of weights without an iteration.
const megatronRelease = "release"

func megatronStep(name string) (int64, bool) {
	n, ok := numbered(name, "iter_", "")
	return n, ok && len(name) >= len("iter_0000000")
}

// findMegatron lists the directories of iterations, and what the tracker names.
func findMegatron(l *look, root *dir) (found []*Checkpoint, err error) {
	others := false
	for _, name := range root.dirs(func(string) bool { return true }) {
		if step, ok := megatronStep(name); ok {
			found = append(found, &Checkpoint{Path: root.join(name), Tag: name, Step: step, StepFrom: StepFromName})
		}
		others = others || strings.HasPrefix(name, "global_step")
	}
	tag, p, err := l.readPointer(root, iterationTracker)
	if err != nil && len(found) == 0 && !others {
		return nil, err // all that there is may be named in it
	}
	step, isStep := digits(tag)
	if root.isDir(megatronRelease) &&
		(len(found) > 0 || tag == megatronRelease || l.isMegatron(root.join(megatronRelease))) {
		found = append(found, &Checkpoint{Path: root.join(megatronRelease), Tag: megatronRelease, Step: -1})
	}
	name := fmt.Sprintf("iter_%07d", step)
	switch {
	case p == noPointer || len(found) == 0 && (others || isStep && namesStep(root, step)):
		return found, nil
	case tag == megatronRelease:
		step, name = -1, tag
	case !isStep:
		return append(found, &Checkpoint{Path: root.join(iterationTracker), Tag: iterationTracker, Step: -1}), nil
	}
	if !root.has(name) {
		// With --freeze-all-layers the tracker moves on and no weights are written.
		found = append(found, &Checkpoint{Path: root.join(name), Tag: name, Step: step, StepFrom: StepFromPointer})
	}
	return found, nil
}

// namesStep reports whether something in a root says in another way that it is of a step: the tracker is of a program that borrowed its
// name, and leads there.
func namesStep(root *dir, step int64) bool {
	return slices.ContainsFunc(root.names, func(name string) bool { return titleOf(name).step == step })
}

func claimedByMegatron(l *look, c *Checkpoint) (claim, error) {
	return l.claimDir(c, func(d *dir) (claim, error) {
		torn := func(name string) bool {
			return name == "common.pt" || name == bridgeConfig || name == bridgeState || strings.HasPrefix(name, "mp_rank_")
		}
		if is := l.isMegatron(d.path) || slices.ContainsFunc(d.names, torn); is || !d.has("weights") {
			return whether(is), nil
		}
		return beside, nil // NeMo's begins with such a directory, and so may anybody's
	})
}

// isMegatron reports whether a directory holds what Megatron-LM writes. One that cannot be read may not.
func (l *look) isMegatron(name string) bool {
	d, err := l.dir(name)
	return err == nil && (d.has(megatronConfig) || isDCP(d) || len(megatronRanks(d)) > 0)
}

func checkMegatron(l *look, c *Checkpoint) error {
	if done, err := checkPointed(l, c, iterationTracker); done {
		return err
	}
	if err := l.dlroverUnfinished(c); err != nil {
		return err
	}
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	if ranks := megatronRanks(d); len(ranks) > 0 && !d.has(megatronConfig) {
		c.contains("torch")
		err = checkMegatronLegacy(l, c, d, ranks)
	} else {
		err = checkMegatronDist(l, c, d)
	}
	if err != nil {
		return err
	}
	if err := checkBridge(l, c, d); err != nil {
		return err
	}
	if c.Tag == megatronRelease {
		c.weightsOnly("%s holds weights alone, from which training starts at its first iteration", c.Path)
	}
	return nil
}
