package format

import (
	"slices"
	"strings"
)

// accelerateNames are how directories are named: by Accelerate itself, by the scripts of diffusers and of others, and
// in Accelerate's own examples.
var accelerateNames = []string{"checkpoint_", "checkpoint-", "step_", "epoch_"}

func findAccelerate(l *look, root *dir) (found []*Checkpoint, err error) {
	steps := false
	for _, name := range root.dirs(func(string) bool { return true }) {
		for _, prefix := range accelerateNames {
			step, ok := numbered(name, prefix, "")
			if !ok {
				continue
			}
			c := &Checkpoint{Path: root.join(name), Tag: name, Step: step, StepFrom: StepFromName}
			if prefix == "epoch_" {
				c.Unit = UnitEpoch
			}
			steps = steps || c.Unit == UnitStep
			found = append(found, c)
		}
	}
	if others, err := l.notAccelerates(found); err != nil || others {
		found = nil
	}
	if len(found) == 0 && len(ranksOf(root, accelerateRanks, ".pkl")) > 0 {
		return []*Checkpoint{{Path: root.path, Step: -1}}, nil
	}
	named, err := l.acceleratesByContent(root)
	if err != nil {
		return nil, err
	}
	found = append(found, named...)
	// Beside those that are numbered one without a number is somebody's last or best: the plain reader finds its step, and its
	// time decides.
	if slices.ContainsFunc(found, func(c *Checkpoint) bool { return c.Step >= 0 }) {
		found = slices.DeleteFunc(found, func(c *Checkpoint) bool {
			d, err := l.dir(c.Path)
			if c.Step >= 0 || err != nil {
				return false
			}
			s, err := l.saveIn(d, c.Tag)
			return err == nil && s != nil && len(s.has) > 0
		})
	}
	for _, c := range found {
		if steps && c.Unit == UnitEpoch { // which of them is the newest the numbers do not tell
			c.Step, c.Unit, c.StepFrom = -1, UnitStep, ""
		}
	}
	return found, nil
}

// notAccelerates reports whether saves under Accelerate's names are of a script's own: there are several, and none
// has the state of generators, which Accelerate writes last: of its own only the first can have died before that.
func (l *look) notAccelerates(found []*Checkpoint) (bool, error) {
	newest := slices.SortedStableFunc(slices.Values(found), newestFirst)
	saves := 0
	for _, c := range newest[:min(len(newest), maxAccelerateLooks)] {
		d, err := l.dir(c.Path)
		switch {
		case err != nil && l.ctx.Err() != nil:
			return false, err
		case err != nil || len(ranksOf(d, accelerateRanks, ".pkl")) > 0:
			return false, nil // what cannot be read may be anything
		case len(d.names) > 0:
			saves++
		}
	}
	return saves > 1, nil
}

// maxAccelerateLooks is how many directories of each series under names of a script's own are looked into.
const maxAccelerateLooks = 4

// acceleratesByContent lists the directories under other names, of each series of which one holds the state of generators
// as Accelerate writes it: 000200, my_lora-000004-state, last.
func (l *look) acceleratesByContent(root *dir) (found []*Checkpoint, err error) {
	names := root.dirs(func(name string) bool {
		return !strings.HasPrefix(name, ".") && name != quarantined && !isTemporary(name) &&
			!slices.ContainsFunc(accelerateNames, func(prefix string) bool { _, ok := numbered(name, prefix, ""); return ok })
	})
	looked := newestByTitle(names, maxAccelerateLooks)
	yes := make([]bool, len(looked))
	err = l.eachOf(len(looked), func(i int) error {
		d, err := l.dir(root.join(looked[i]))
		if err != nil {
			return l.ctx.Err() // it is somebody else's
		}
		yes[i] = len(ranksOf(d, accelerateRanks, ".pkl")) > 0
		return nil
	})
	series := map[string]bool{}
	for i, name := range looked {
		series[dirFamily(titleOf(name))] = series[dirFamily(titleOf(name))] || yes[i]
	}
	for _, name := range names {
		t := titleOf(name)
		i, seen := slices.BinarySearch(looked, name)
		if !series[dirFamily(t)] || t.step < 0 && !(seen && yes[i]) {
			continue
		}
		c := &Checkpoint{Path: root.join(name), Tag: name, Step: t.step, Unit: t.unit}
		if t.step >= 0 {
			c.StepFrom = StepFromName
		}
		found = append(found, c)
	}
	return found, err
}

func claimedByAccelerate(l *look, c *Checkpoint) (claim, error) {
	return l.claimDir(c, func(d *dir) (claim, error) {
		if is, known := ofAccelerate(d); known {
			return whether(is), nil
		}
		foreign := true
		for _, name := range d.names {
			if t := titleOf(name); d.isDir(name) && t.named && t.step != c.Step {
				return no, nil // epoch_2/iter_500
			}
			foreign = foreign && d.isDir(name) && !isNth(name, "pytorch_model") && !strings.HasPrefix(name, "optimizer_") && !strings.HasPrefix(name, fsdpModel)
			if !d.isDir(name) && !isHFWeights(name) && name != "optimizer.bin" && name != "scheduler.bin" && name != "sampler.bin" &&
				!strings.HasPrefix(name, "pytorch_model") && !strings.HasPrefix(name, "custom_checkpoint_") {
				return no, nil
			}
		}
		if foreign {
			return beside, nil // directories of a hook of the script's, of which alone nothing tells
		}
		return maybe, nil
	})
}

// ofAccelerate tells a checkpoint of Accelerate from one of the Trainer, whose directories have the same names.
func ofAccelerate(d *dir) (is, known bool) {
	if d.has(hfState) || d.has(hfArgs) || d.has("rng_state.pth") || d.has("rng_state_0.pth") {
		return false, true
	}
	if len(ranksOf(d, accelerateRanks, ".pkl")) > 0 {
		return true, true
	}
	// Of a save that died before, the rest is left.
	is = (d.isFile("optimizer.bin") || d.isDir("optimizer_0")) &&
		(d.isFile("model.safetensors") || d.isFile("pytorch_model.bin") || d.isDir(fsdpModel+"_0"))
	return is, is
}
