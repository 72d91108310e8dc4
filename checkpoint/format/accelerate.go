package format

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// accelerate is a directory of what Accelerator.save_state of Hugging Face's Accelerate wrote (save_accelerator_state
// in accelerate/checkpointing.py).
//
// The number in its own names, checkpoint_3, counts the saves and not the steps, and may begin at 0 again after a
// restart. Scripts that name the directories themselves mostly put the step there.
//
// Nothing is written last. The first rank writes weights, optimizer, scheduler and the state of its generators, and
// then the objects that the script has registered; the other ranks write the state of their generators when they like.
// So a missing last rank cannot be told, and does no harm: its generators start from their seeds. Whether all
// registered objects are there is told by the checkpoint before, for loading fails without one; and that a directory
// was saved into again, by the times of the first rank's files.
var accelerate = kind{name: "accelerate", find: findAccelerate, check: checkAccelerate, claims: claimedByAccelerate, movable: true}

const (
	accelerateRanks  = "random_states_"
	accelerateObject = "custom_checkpoint_"
)

func checkAccelerate(l *look, c *Checkpoint) error {
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	ranks := ranksOf(d, accelerateRanks, ".pkl")
	if len(ranks) == 0 {
		c.Unmarked = l.endsWith(d.join("optimizer.bin"))
		return problem.New(problem.MissingRankState, "%s holds no %s*.pkl", d.path, accelerateRanks)
	}
	if rank, missing := ranks.gap(); missing {
		return problem.New(problem.MissingRankState, "%s is missing: %d are there",
			d.join(fmt.Sprintf("%s%d.pkl", accelerateRanks, rank)), len(ranks))
	}
	c.Elastic, c.WorldSize, c.Training = true, len(ranks), true
	engine, err := checkAccelerateWeights(l, c, d)
	if err != nil {
		return err
	}
	optimizer := engine
	var paths []string
	for _, name := range d.names {
		switch stem, suffix, _ := strings.Cut(name, "."); {
		case suffix == "bin" && isNth(stem, "optimizer"):
			optimizer = true
			fallthrough
		case suffix == "bin" && (isNth(stem, "scheduler") || isNth(stem, "sampler") || isNth(stem, "dl_state_dict")),
			name == "scaler.pt",
			suffix == "pkl" && (strings.HasPrefix(stem, accelerateRanks) || strings.HasPrefix(stem, accelerateObject)):
			paths = append(paths, d.join(name))
		}
		optimizer = optimizer || d.isDir(name) && isNth(name, "optimizer") ||
			strings.HasPrefix(name, "optimizer_") && strings.Contains(name, "_rank")
	}
	if _, err := checkTorchAll(l, c, paths); err != nil {
		return err
	}
	if err := checkAccelerateBefore(l, c, d); err != nil {
		return err
	}
	if err := doubtScheduler(l, c, d); err != nil {
		return err
	}
	if err := checkAccelerateOrder(l, c, d); err != nil {
		return err
	}
	c.Basis = cmp.Or(c.Basis, BasisGrid)
	if !optimizer {
		c.weightsOnly("%s holds no optimizer", d.path)
	}
	return nil
}

// checkAccelerateOrder compares the times of what the first rank has written: a save over an earlier one into the same
// directory, as scripts do that name it themselves, leaves some files of each when it is cut. What scripts write beside it
// when they like does not count, nor do files of other ranks.
func checkAccelerateOrder(l *look, c *Checkpoint, d *dir) error {
	marker := d.join(accelerateRanks + "0.pkl")
	before, after := []string{}, []string{marker}
	var split []string // the directories of what is split among ranks
	for _, name := range d.names {
		switch stem, suffix, _ := strings.Cut(name, "."); {
		case d.isDir(name) && (isNth(name, "optimizer") || strings.HasPrefix(name, fsdpModel+"_")):
			split = append(split, d.join(name)+"/")
		case !d.isFile(name):
		case isHFWeights(name), name == "scaler.pt", suffix == "safetensors" && isNth(stem, "model"),
			suffix == "bin" && (isNth(stem, "pytorch_model") || isNth(stem, "optimizer") || isNth(stem, "scheduler") ||
				isNth(stem, "sampler") || isNth(stem, "dl_state_dict")):
			before = append(before, d.join(name))
		case suffix == "pkl" && strings.HasPrefix(stem, accelerateObject):
			after = append(after, d.join(name))
		}
	}
	times := Checkpoint{} // they were counted, and none of them always is the last
	parts, err := l.parts(&times, before, true)
	if err != nil {
		return err
	}
	later, err := l.parts(&times, after, true)
	if err != nil {
		return err
	}
	for _, p := range c.parts {
		if slices.ContainsFunc(split, func(dir string) bool { return strings.HasPrefix(p.path, dir) }) {
			parts = append(parts, p)
		}
	}
	if err := l.inOrder(c, marker, later[0].mod, parts); err != nil {
		return err
	}
	for _, p := range later[1:] {
		if err := l.inOrder(c, p.path, p.mod, later[:1]); err != nil {
			return err
		}
	}
	return nil
}

// isNth tells the names of the first, the second and so on of several: optimizer, optimizer_1.
func isNth(name, first string) bool {
	if name == first {
		return true
	}
	_, ok := numbered(name, first+"_", "")
	return ok
}

// checkAccelerateWeights looks at the models, and reports whether what splits them keeps the optimizer's state with
// them.
func checkAccelerateWeights(l *look, c *Checkpoint, d *dir) (engine bool, err error) {
	weights := false
	for _, name := range d.dirs(func(name string) bool { return isNth(name, "pytorch_model") }) {
		// Loaded by this tag, whatever the file latest says.
		inner, err := c.payload(func(inner *Checkpoint) error { return checkDeepSpeed(l, inner, d.join(name)) })
		if err != nil {
			return true, err
		}
		c.contains("deepspeed")
		c.Elastic, c.Basis, weights, engine = inner.Elastic, inner.Basis, true, true
	}
	sharded, err := checkFSDP(l, c, d)
	if err != nil {
		return engine, err
	}
	// Hooks of a script may put each model into a directory of its own.
	dirs := append([]string{d.path}, prefixed(d, d.dirs(func(name string) bool {
		return !isNth(name, "pytorch_model") && !isNth(name, "optimizer") && !strings.HasPrefix(name, fsdpModel)
	}))...)
	for _, dir := range dirs {
		_, err := c.payload(func(inner *Checkpoint) error {
			found, err := checkWeights(l, inner, dir)
			weights = weights || found
			return err
		})
		if err != nil {
			return engine, err
		}
		more, err := checkAccelerateModels(l, c, dir)
		if err != nil {
			return engine, err
		}
		weights = weights || more
	}
	if !weights && !sharded {
		return engine, problem.New(problem.MissingShard, "%s holds no weights", d.path)
	}
	return engine, nil
}

// checkAccelerateModels looks at the weights of the second model and of those after it, and at files of other names,
// such as those of diffusers.
func checkAccelerateModels(l *look, c *Checkpoint, dir string) (found bool, err error) {
	d, err := l.dir(dir)
	if err != nil {
		return false, err
	}
	var paths []string
	for _, name := range d.files(func(string) bool { return true }) {
		stem, suffix, _ := strings.Cut(name, ".")
		switch {
		case isHFWeights(name):
		case suffix == "safetensors", suffix == "bin" && isNth(stem, "pytorch_model"):
			paths = append(paths, d.join(name))
		}
	}
	return len(paths) > 0, checkWeightFiles(l, c, paths)
}

// doubtScheduler doubts a checkpoint without schedulers whose optimizer has had one: torch notes the rate that a scheduler
// began with in the optimizer's groups. Whether it was handed to Accelerate, which then fails to load, is not noted
// anywhere.
func doubtScheduler(l *look, c *Checkpoint, d *dir) error {
	if l.Level < Manifests || !d.isFile("optimizer.bin") || len(ranksOf(d, accelerateObject, ".pkl")) > 0 ||
		len(d.files(isAccelerateScheduler)) > 0 {
		return nil
	}
	found, _, err := l.mentions(d.join("optimizer.bin"), maxMentions, "initial_lr")
	if found {
		c.Doubt = cmp.Or(c.Doubt, fmt.Sprintf("%s is missing, and the optimizer has had a scheduler: if Accelerate had prepared it, "+
			"loading fails", d.join("scheduler.bin")))
	}
	return err
}

func isAccelerateScheduler(name string) bool {
	stem, isBin := strings.CutSuffix(name, ".bin")
	return isBin && isNth(stem, "scheduler")
}

// checkAccelerateBefore compares optimizers, schedulers, samplers and registered objects, without which nothing loads that
// had them, with those of the checkpoint before.
func checkAccelerateBefore(l *look, c *Checkpoint, d *dir) error {
	objects := ranksOf(d, accelerateObject, ".pkl")
	if n, missing := objects.gap(); missing {
		return problem.New(problem.MissingShard, "%s is missing", d.join(fmt.Sprintf("%s%d.pkl", accelerateObject, n)))
	}
	root, err := l.dir(c.Root)
	if err != nil {
		return err
	}
	name := ""
	for _, other := range root.names {
		if root.isDir(other) && other != c.Tag && numberless(other) == numberless(c.Tag) && byNumbers(other, c.Tag) < 0 && (name == "" || byNumbers(other, name) > 0) {
			name = other
		}
	}
	if name == "" {
		return nil
	}
	previous, err := l.dir(root.join(name))
	if vanished(err) {
		return nil // removed in the meantime
	}
	if err != nil {
		return err
	}
	for _, name := range previous.names {
		stem, isBin := strings.CutSuffix(name, ".bin")
		if isBin && (isNth(stem, "optimizer") || isNth(stem, "scheduler") || isNth(stem, "sampler")) && !d.has(name) {
			return problem.New(problem.MissingShard, "%s is missing, which %s has", d.join(name), previous.path)
		}
	}
	if err := l.modelsBefore(d, previous); err != nil {
		return err
	}
	if n := len(ranksOf(previous, accelerateObject, ".pkl")); n > len(objects) {
		return problem.New(problem.MissingShard, "%s holds %d %s*.pkl, and %s holds %d", d.path, len(objects),
			accelerateObject, previous.path, n)
	}
	return nil
}

// modelsBefore wants the models that hooks of a script put into directories of their own, as the checkpoint before has them.
func (l *look) modelsBefore(d, previous *dir) error {
	for _, name := range previous.dirs(func(name string) bool { return !strings.HasPrefix(name, fsdpModel) && !isNth(name, "optimizer") }) {
		before, err := l.dir(previous.join(name))
		if err != nil {
			if vanished(err) {
				continue
			}
			return err
		}
		models := before.files(func(n string) bool { return isHFWeights(n) || strings.HasSuffix(n, ".safetensors") })
		if len(models) == 0 {
			continue
		}
		now, err := l.dir(d.join(name))
		switch {
		case vanished(err):
			return problem.New(problem.MissingShard, "%s is missing, which %s has", d.join(name), previous.path)
		case err != nil:
			return err
		case len(now.files(func(n string) bool { return isHFWeights(n) || strings.HasSuffix(n, ".safetensors") })) < len(models):
			return problem.New(problem.MissingShard, "%s holds fewer files of weights than %s", now.path, before.path)
		case before.has("config.json") && !now.has("config.json"):
			return problem.New(problem.MissingShard, "%s is missing, which %s has", now.join("config.json"), before.path)
		}
	}
	return nil
}
