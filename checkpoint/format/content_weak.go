package format

import (
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// weakKeys may count something within an epoch, or since the last gain, or say how much there will be: they are the step where
// nothing else is, and no name says one.
var weakKeys = []string{"cur_step", "batch", "num_iterations", "num_iters", "total_steps", "total_step", "step_counter",
	"frames", "frame", "num_frames", "frame_idx", "total_frames"}

// weak is a count under one of these. What begins with "num" may as well say how much there will be: programs know that in
// epochs or in iterations, and where both stand side by side they count.
func (w *weighing) weak(s *file.Shape) tally {
	if s.Get("num_epochs") != nil && s.Get("num_iterations") != nil {
		if found := w.number(s, []string{"num_iterations"}, UnitStep); found.n >= 0 || found.err != nil {
			return w.notBelow(s, found)
		}
	}
	return w.number(s, weakKeys, UnitStep)
}

// notBelow is a count of steps, or the epoch beside it where that is higher: such a count started over within the epoch, or is of
// something else.
func (w *weighing) notBelow(s *file.Shape, step tally) tally {
	if step.n < 0 {
		return step
	}
	if epoch := w.number(s, epochKeys, UnitEpoch); belowEpoch(step, epoch) {
		return epoch
	}
	return step
}

// belowEpoch reports whether a count of steps is lower than an epoch that stands beside it. Several episodes may be one step.
func belowEpoch(step, epoch tally) bool {
	return step.unit == UnitStep && epoch.unit == UnitEpoch && step.n < epoch.n && step.key != "global_step" &&
		(strings.Contains(epoch.key, "epoch") || epoch.key == "ep" && strings.HasPrefix(step.key, "it"))
}

// bows takes a step back that stands under none of the usual names where the name of the file says one, and returns it.
func (c *content) bows(name title) (bowed tally) {
	if c.step >= 0 && name.step >= 0 && c.key != "" && !slices.Contains(stepKeys, c.key) && !slices.Contains(epochKeys, c.key) {
		bowed = tally{c.step, c.unit, c.key, c.plain, nil}
		c.step = -1
	}
	return bowed
}

// firstBatches takes the batches of the first epoch for steps: no other has begun. It is for what is written over in place,
// where steps of one and epochs of another are never compared.
func (c *content) firstBatches(name title) {
	i := slices.IndexFunc(c.counts, func(t tally) bool { return t.key == "batch" })
	if i >= 0 && name.step < 0 && c.step == 0 && c.unit == UnitEpoch {
		c.at(c.counts[i])
	}
}

// within2 reports whether a value, or one of those in the dicts of it, is of a kind: "loss_module" may hold more than losses.
func within2(s *file.Shape, is func(*file.Shape) bool) bool {
	if s == nil || s.Kind != file.Dict && s.Kind != file.Object {
		return false
	}
	return is(s) || slices.ContainsFunc(s.Values, is)
}
