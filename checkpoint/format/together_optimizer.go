package format

import (
	"path"
	"slices"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// optimizers looks for the models of what holds nothing but the state of an optimizer. The weights beside it, where no other
// may be meant, are a training state with it, whatever form they have.
func optimizers(cs []*Checkpoint) {
	for _, c := range cs {
		if !c.NoModel || !c.Complete || !c.Resumable {
			continue
		}
		if model := c.model(cs); model != nil {
			model.Resumable, model.Reason, model.Detail = true, "", ""
			model.Training, model.Optimizer, model.InPlace, model.Identity = true, true, true, c.Identity
			model.Step, model.Unit, model.StepFrom = c.Step, c.Unit, c.StepFrom
			if c.Modified.After(model.Modified) {
				model.Modified, model.ModifiedFrom = c.Modified, c.ModifiedFrom
			}
			c.Tells, c.OfWeights = true, true
		}
		if c.save.directory && (c.save.slot != "" || c.save.title.step >= 0) &&
			!slices.ContainsFunc(cs, func(o *Checkpoint) bool { return o.Complete && !o.Resumable && !o.Training && o.series != c.series }) {
			continue // last/ without a model is none, whatever best/ has
		}
		c.NoModel = !slices.ContainsFunc(cs, func(o *Checkpoint) bool { return o != c && o.Complete && !o.NoModel && !o.Data })
	}
}

// ofBuffer reports whether a file is by its name the buffer from which a program that learns from what it does draws its samples,
// and nothing in it says more.
func (c *Checkpoint) ofBuffer() bool {
	return c.Unsure && c.save != nil && !c.save.directory &&
		slices.ContainsFunc(pieces(stemOf(c.base())), func(p piece) bool { return bufferWords[p.text] })
}

var bufferWords = set("replay buffer memory experience transitions trajectories")

// Incomplete refuses what is no more than the state of an optimizer, where nothing else was found: a part is missing. A buffer without a
// state is data.
func Incomplete(cs []Checkpoint) {
	state := func(c Checkpoint) bool { return c.Complete && c.Resumable && !c.ofBuffer() }
	buffers := !slices.ContainsFunc(cs, state)
	for i := range cs {
		if c := &cs[i]; buffers && c.ofBuffer() && c.Complete && c.Resumable {
			c.Data, c.Training, c.Unsure, c.Doubt = true, false, false, ""
			c.weightsOnly("%s is by its name a buffer of what was seen: data", c.Path)
		}
		if c := &cs[i]; c.NoModel && c.Complete && c.Resumable {
			c.fail(problem.New(problem.MissingShard, "%s holds the state of an optimizer alone, and there is no model beside it", c.Path))
		}
	}
}

// model is the one among others that are weights alone in the directory of the state of an optimizer, both written over in
// place; nil where there is none or more than one, or a state.
func (c *Checkpoint) model(cs []*Checkpoint) (model *Checkpoint) {
	for _, o := range cs {
		switch {
		case o == c || o.Data || path.Dir(o.Path) != path.Dir(c.Path) || o.NoModel:
		case model != nil || o.Step >= 0 || !o.Complete || o.Resumable || o.Training:
			return nil
		default:
			model = o
		}
	}
	if c.save.directory || c.save.title.step >= 0 || c.save.slot != "" {
		return nil
	}
	return model
}
