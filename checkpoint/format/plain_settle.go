package format

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// settle decides, from what is in its files, of which step a save is, and whether training can be resumed from it.
func (c *Checkpoint) settle(members []member, contents []content) error {
	step, unit, from := int64(-1), UnitEpoch, 0
	optimizer, more, alone, tensors, open, read, samples, packed := false, false, true, false, false, false, false, false
	own := false                // it is not a text alone that says more
	blind := false              // of a form that is not known
	unnamed, text := true, true // all that is no text beside it: arrays without names; text, too
	several := 0                // files that are no text
	beside := false             // a model that is no fitted one, of which those are the last layer
	for i, m := range members {
		if !isSide(m.path) {
			several++
			beside = beside || contents[i].tensors && !contents[i].fitted
		}
	}
	for i, in := range contents {
		c.Doubt = cmp.Or(c.Doubt, in.doubt)
		if isSide(members[i].path) && in.step < 0 {
			continue
		}
		if several > 1 && ofArguments(path.Base(members[i].path)) && !in.tensors && !in.optimizer {
			continue // what is planned
		}
		if len(members) > 1 && slices.Contains(strings.Fields(members[i].roles), "ema") {
			in.step = -1 // an average counts its own updates
		}
		if in.fitted && c.save.title.step >= 0 && !beside { // of a loop that resumes from it
			in.alone, in.optimizer = false, in.grown
		}
		in.agree(c.save.title)
		in.firstBatches(c.save.title)
		if bowed := in.bows(c.save.title); bowed.key != "" {
			c.bowed = bowed
		}
		switch before := contents[from]; {
		case in.step < 0:
		case step < 0, unit == UnitEpoch && in.unit == UnitStep, unit == in.unit && in.sure && !before.sure:
			step, unit, from = in.step, in.unit, i
		case in.unit == unit && in.step != step && members[from].slot == members[i].slot && sameCount(in, before) && (!c.save.ranked() || c.save.title.step < 0 && members[from].roles == members[i].roles):
			return problem.New(problem.StepMismatch, "%s says %d, and %s says %d: a save over an earlier one was cut", members[from].path,
				step, members[i].path, in.step)
		}
		optimizer = optimizer || in.optimizer || in.tensors && c.below(members[i]) || ofOptimizer(members[i]) && (!in.alone || in.tensors && !allOfOptimizer(members)) && !isSide(members[i].path)
		blind = blind || in.opaque
		if in.more && !isSide(members[i].path) {
			own = true
		}
		more, tensors, open, read = more || in.more, tensors || in.tensors, open || in.open, read || in.read
		packed = packed || in.packed
		samples = samples || in.samples && several == 1
		unnamed, text = unnamed && (in.positional || isSide(members[i].path)), text && (in.text || isSide(members[i].path))
		alone = alone && in.alone && !(in.scalars && several > 1) // the epoch in a file of its own
	}
	name := c.save.title
	if step >= 0 {
		c.counts = contents[from].counts
		c.says(step, unit, name)
	}
	c.Training, c.Optimizer, c.NoModel = optimizer || more, optimizer, noModel(members, contents)
	c.noWeights = optimizer && !tensors && !open && !blind
	checkpoint := checkpointName(c.base())
	foreign := !blind && !c.save.named && name.slot == "" && name.family != "" && !checkpoint
	structured := len(contents) == 1 && alone && !open && stateOfItsOwn(contents[0], checkpoint, foreign, c.save)
	switch {
	case text && !checkpoint:
		c.Training, c.Data = false, true
		c.weightsOnly("%s is text, and beside nothing: data", c.Path)
	case optimizer || more:
		c.Beside = !optimizer && !own && tensors
		c.Bare = c.save.part || allOfOptimizer(members) || !tensors && !optimizer && !blind && (!open && name.step < 0 || allHaveRoles(members))
	case alone && tensors && !(unnamed && (c.save.directory && c.save.named || checkpoint)):
		c.Part = allHaveRoles(members)
		c.weightsOnly("%s holds tensors and neither the state of an optimizer nor a step: weights", c.Path)
	case !tensors && (alone || foreign) && (!open || !checkpoint) && !structured && !(packed && c.namesState()):
		c.Part, c.Data = allHaveRoles(members), alone && !open
		c.weightsOnly("%s holds neither tensors nor a step: data", c.Path)
	case samples && foreign && name.step < 0 && !c.save.directory:
		c.Data = true
		c.weightsOnly("%s is a list of items of one form, under the name of nothing that is saved in training: data", c.Path)
	case read, blind, unnamed && tensors:
		c.Unsure, c.Hollow = true, !tensors
		c.Bare = samples && !checkpoint || !tensors && (!checkpoint || !blind) || blind && allHaveRoles(members)
		if c.ofBuffer() {
			c.Bare, c.Hollow = true, true
		}
		c.Doubt = cmp.Or(c.Doubt, c.Path+" is taken for a training state by its name alone: no state of an optimizer and no step was found in it")
	}
	return nil
}

// namesState reports whether what holds bytes alone is by its name a save: with a step, and a word for it, or for a part of a
// model, or an ending that only such files have. Samples have numbers, too.
func (c *Checkpoint) namesState() bool {
	t := c.save.title
	return (t.step >= 0 || t.slot != "") && t.family == "" &&
		(t.named || t.roles != "" || slices.Contains(opaqueEndings, strings.ToLower(path.Ext(c.Path))))
}

// agree takes of several counts that may be the step the one that the name says.
func (c *content) agree(name title) {
	i := slices.IndexFunc(c.counts, func(t tally) bool { return t.n == name.step && t.unit == name.unit && t.unit == UnitStep })
	if i >= 0 && c.step >= 0 && c.step != name.step {
		c.at(c.counts[i])
	}
}

// ofOptimizer reports whether a file is by its name that of the state of an optimizer.
func ofOptimizer(m member) bool {
	return strings.Contains(m.roles, "optimizer") || slices.Contains(optimizerEndings, strings.ToLower(path.Ext(m.path)))
}

// below reports whether a file lies in a directory of its save that is by its name that of an optimizer: opt_state/dense_1.npz.
func (c *Checkpoint) below(m member) bool {
	dir := path.Dir(m.path)
	return c.save.directory && dir != c.Path && strings.Contains(titleOf(path.Base(dir)).roles, "optimizer")
}

// allOfOptimizer reports whether each file of a save is by its name that of an optimizer.
func allOfOptimizer(members []member) bool {
	return !slices.ContainsFunc(members, func(m member) bool { return !isSide(m.path) && !ofOptimizer(m) })
}

// noModel reports whether a save is the state of an optimizer, and of what goes with it, by what is in its files.
func noModel(members []member, contents []content) bool {
	found := false
	for i, in := range contents {
		found = found || in.only
		if !in.only && !isSide(members[i].path) && (in.tensors || in.optimizer || in.opaque || in.open || !partOnly(members[i].roles)) {
			return false
		}
	}
	return found
}

// allHaveRoles reports whether each file of a save is one part of it by its name.
func allHaveRoles(members []member) bool {
	return !slices.ContainsFunc(members, func(m member) bool { return m.roles == "" && !isSide(m.path) })
}

// stateOfItsOwn reports whether numbers without tensors may be the state of a program: a population, a table of values. Such
// are taken for one where the name leaves nothing else that it could be.
func stateOfItsOwn(in content, checkpoint, foreign bool, s *save) bool {
	switch list := in.scalars; {
	case in.number: // epoch_5.pt, beside the weights of the same epoch
		return !s.directory && s.named && s.title.family == ""
	case !in.nested:
		return false
	case list:
		return checkpoint || !foreign && (!in.lines || s.title.family == "")
	}
	return !s.directory && s.roles == "" && (checkpoint || s.slot != "")
}

// says takes the step that the content says, which goes before that of the name, but for one case: the name counts steps,
// and the content epochs.
func (c *Checkpoint) says(step int64, unit Unit, name title) {
	// gpt_384_12_latest.pth, ckpt_mixup_0.pth: no count of steps is lower than that of the epochs.
	inPlace := !name.named && (newestSlots[name.slot] || name.step < step)
	if unit == UnitEpoch && name.step >= 0 && name.unit == UnitStep && !name.sizelike && !inPlace && (name.named || apart(name.step, step)) {
		return
	}
	c.Step, c.Unit, c.StepFrom = step, unit, StepFromContent
}

// sameCount reports whether two files have to say the same step.
func sameCount(a, b content) bool { return a.sure && b.sure || a.plain && b.plain && a.key == b.key }

func apart(a, b int64) bool { return a-b > 1 || b-a > 1 }

// ranked reports whether several processes have files of their own, which may differ in what they say.
func (s *save) ranked() bool { return s.ranks > 1 }
