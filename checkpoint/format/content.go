package format

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// content is what a file holds, as far as it tells without being loaded.
type content struct {
	step      int64 // -1: it says none
	unit      Unit
	optimizer bool // the state of one
	more      bool // something else that training continues with: an epoch, generators, a scheduler
	tensors   bool // there are some
	// alone says that there is nothing but tensors and what describes them, as far as all of it is known: the proof that
	// it is no training state.
	alone bool
	// open says that something was not understood: that there are no tensors proves nothing then.
	open bool
	// scalars says that there are numbers, texts and the like without a name: one of them may say how far a state is.
	scalars bool
	// nested says that there are lists or dicts in the list or the dict that it is, and lines that it is a list of dicts that
	// each say a step.
	nested, lines bool
	// samples says that it is a list of items of one form, with tensors in them.
	samples bool
	number  bool // it is a bare number
	text    bool // it is text, under a name that does not say so
	// positional says that its arrays have no names of their own: what a tree was flattened to.
	positional bool
	read       bool    // what is in the file was read
	opaque     bool    // its form is not known
	doubt      string  // what keeps it open whether the file is whole
	key        string  // under which the step stands
	counts     []tally // all that may be the step
	// sure says that the step is a plain number under a name that counts the training itself. An average of the weights, a
	// sampler, a buffer of a layer count on their own.
	sure  bool
	plain bool  // the step is a number, not the element of a tensor
	err   error // of reading, where a number lies beside the pickle
}

// sureKeys are the names of steps and of epochs that mean the same in every file of a save.
var sureKeys = set("global_step step iteration iter epoch")

// tally is a number under a name.
type tally struct {
	n     int64 // -1: there is none
	unit  Unit
	key   string
	plain bool // not the element of a tensor
	err   error
}

// at takes the step from a number.
func (c *content) at(from tally) {
	c.step, c.unit, c.key, c.err = from.n, from.unit, from.key, from.err
	c.plain, c.sure = from.plain, from.plain && sureKeys[from.key]
}

// stepKeys are the names under which programs keep how far they are, the surest first; epochKeys count epochs. Where there
// are several, one that agrees with the name goes before them all (settle).
var (
	// A step of the optimizer goes before an iteration, which may be one micro batch of it, and before a step, which may be
	// one of its epoch.
	stepKeys = []string{"global_step", "optimizer_step", "optimizer_steps", "opt_step", "step", "global_steps", "step_count", "current_step",
		"train_step", "train_steps", "training_step", "total_steps_done", "step_num", "step_nr", "last_step", "step_idx",
		"num_steps_done", "steps_completed", "completed_steps", "steps_done", "num_steps_completed", "last_train_step", "global_train_step",
		"num_updates", "update", "updates", "number_training_updates", "num_updates_done", "global_update",
		"iteration", "iter", "steps", "it", "iter_num", "iteration_num", "num_steps", "n_iter", "niter", "iterations", "steps_run",
		"global_iter", "global_iteration", "itr", "current_iteration", "current_iter", "cur_iter", "last_iter", "train_iter",
		"training_iteration", "iteration_count", "n_total_iter", "batch_idx_train", "istep", "num_timesteps", "global_timestep", "collected_frames", "env_steps", "batches", "batch_count"}
	epochKeys = []string{"epoch", "epochs", "current_epoch", "epoch_num", "cur_epoch", "epochs_run", "num_epochs_done", "finished_epoch",
		"finished_epochs", "epochs_done", "epochs_completed", "completed_epochs", "num_epochs_completed", "last_epoch", "start_epoch", "iepoch",
		"epoch_idx", "epoch_nr", "episode", "i_episode", "episode_num", "current_episode", "generation"}
	// within are the keys of dicts in which a step may stand. Those of an optimizer's state count something else.
	within = set("state meta metadata trainer trainer_state training_state train_state trainstate progress train_progress training_progress " +
		"info train_info train_infos requeue_stats extra extra_state counters counts loop misc status training run_state client_state timestamp")
	// moreWords are in the keys of what training needs to resume, besides an optimizer.
	moreWords = []string{"sched", "scaler", "rng", "random_state", "rndstate", "dataloader", "data_loader", "sampler", "loops", "callbacks", "grad_scaler"}
	// aboutWords are in the keys of what says something about weights, or about what made them.
	aboutWords = []string{"config", "arg", "hparam", "hyper", "cfg", "arch", "class", "version", "best", "acc", "loss", "metric", "val", "name",
		"vocab", "size", "dim", "num_", "n_", "dtype", "format", "seed", "opt_level", "param_names", "shape", "label", "buffers", "_metadata"}
)

// contentOf weighs the shape of what a file holds.
func contentOf(s *file.Shape) content {
	c := new(weighing).of(s, 0)
	c.read = true
	return c
}

// weighing is one walk through a shape. A pickle may hold the same value in many places, and itself: of each the first counts.
type weighing struct {
	seen   map[*file.Shape]bool
	counts []tally // that step has met
}

// first reports whether a value is met for the first time.
func (w *weighing) first(s *file.Shape) bool {
	if w.seen == nil {
		w.seen = map[*file.Shape]bool{}
	}
	before := w.seen[s]
	w.seen[s] = true
	return !before
}

func (w *weighing) of(s *file.Shape, depth int) content {
	c := content{step: -1, alone: true}
	if s == nil || depth > maxContentDepth {
		return content{step: -1, open: true}
	}
	switch s.Kind {
	case file.Tensor:
		c.tensors = true
	case file.Dict, file.Object:
		c.dict(w, s, 0, depth)
		c.nested = slices.ContainsFunc(s.Values, composite)
		steps := new(weighing)
		c.at(steps.step(s, 0))
		c.counts = steps.counts
		c.more = c.more || isScheduler(s)
		switch {
		case c.step >= 0:
			c.more = true
		case stripped(s) && !c.optimizer && c.err == nil:
			c.alone, c.open, c.more = true, false, false
			c.tensors = true
		}
		if s.Kind == file.Object && len(s.Keys)+len(s.Args) == 0 {
			c.alone = false // nothing is known of it but its class, and perhaps what it was made from
		}
	case file.List:
		c.list(w, s, depth)
	case file.Number, file.Text, file.None, file.Float:
		c.scalars, c.number = true, s.Kind == file.Number
	default:
		c.alone, c.open = false, true
	}
	if c.optimizer || c.more {
		c.alone = false
	}
	return c
}

// maxContentDepth bounds how deep dicts are looked into.
const maxContentDepth = 6

func (c *content) list(w *weighing, s *file.Shape, depth int) {
	numbers, differ := false, false
	for _, v := range s.Values {
		if composite(v) && !w.first(v) {
			continue
		}
		inner := w.of(v, depth+1)
		c.optimizer, c.more, c.tensors = c.optimizer || inner.optimizer, c.more || inner.more, c.tensors || inner.tensors
		c.alone, c.open, c.err = c.alone && inner.alone, c.open || inner.open, cmp.Or(c.err, inner.err)
		c.scalars, c.nested = c.scalars || inner.scalars, c.nested || composite(v) && v != s
		differ = differ || inner.step != c.step && c.step >= 0
		numbers = numbers || v != nil && v.Kind == file.Number
		if c.step < 0 {
			c.at(tally{inner.step, inner.unit, inner.key, inner.plain, c.err})
		}
	}
	c.scalars = c.scalars || !c.tensors
	if c.scalars && c.tensors || numbers && c.nested {
		c.alone = false // one of them may say how far it is
	}
	switch {
	case c.open || c.optimizer || c.more && !c.tensors && !differ || !alike(s):
	case c.tensors:
		c.samples = !c.more
	default: // what one of them says is not said of all
		c.alone, c.lines, c.more = true, c.more, false
		c.at(tally{n: -1})
	}
}

// composite reports whether a value consists of others.
func composite(s *file.Shape) bool {
	return s != nil && (s.Kind == file.Dict || s.Kind == file.List || s.Kind == file.Object)
}

// fewest is how many items of one form are a series.
const fewest = 3

// alike reports whether the items of a list have one form: the same keys, or the same length.
func alike(s *file.Shape) bool {
	if len(s.Values) < fewest || s.Values[0] == nil {
		return false
	}
	first := s.Values[0]
	return !slices.ContainsFunc(s.Values, func(v *file.Shape) bool {
		return v == nil || v.Kind != first.Kind || v.Pairs != first.Pairs || v.Kind != file.Dict && v.Kind != file.List || !slices.Equal(v.Keys, first.Keys)
	})
}

// dict weighs a dict, or an object, that stands so deep in dicts, and so deep in all.
func (c *content) dict(w *weighing, s *file.Shape, depth, level int) {
	if isOptimizer(s) {
		c.optimizer = true
		return
	}
	if s.Kind == file.Object && isModule(s) {
		c.tensors = true
		return
	}
	if len(s.Keys) < s.Pairs { // there are keys that are no texts
		c.alone, c.open = c.alone && depth > 0, true
	}
	c.open = c.open || s.Kind == file.Object
	for _, v := range s.Args {
		if composite(v) && !w.first(v) {
			continue
		}
		inner := w.of(v, level+1)
		c.optimizer, c.tensors = c.optimizer || inner.optimizer, c.tensors || inner.tensors
		// Of the fields of a named tuple nothing says what they are. Where they are tensors alone it is a layer.
		c.alone = c.alone && inner.alone && (!inner.tensors || v.Kind != file.Dict && v.Kind != file.List) && (v == nil || v.Kind != file.Number)
	}
	for i, key := range s.Keys {
		v := s.Values[i]
		lower := strings.ToLower(key)
		switch {
		case v == nil:
			c.alone, c.open = false, true
		case v.Kind == file.Tensor:
			c.tensors = true
			if depth == 0 && (slices.Contains(moreWords, lower) || strings.Contains(lower, "rng")) {
				c.more = true
			}
		case v.Kind == file.None, v.Kind == file.Text, v.Kind == file.Float:
		case depth <= 1 && optimizerKey(lower) && holds(v) && !options(lower, v):
			c.optimizer = true
		case depth <= 1 && has(lower, moreWords) && holds(v):
			c.more = true
		case has(lower, aboutWords) && !within2(v, isOptimizer):
			c.open = c.open || unclear(v)
		case (v.Kind == file.Dict || v.Kind == file.Object) && depth < maxContentDepth:
			if w.first(v) {
				c.dict(w, v, depth+1, level+1)
			}
		case v.Kind == file.Number && depth == 0:
			c.alone = false // a program's own way to say how far it is
		case v.Kind == file.Bytes && depth == 0:
			c.open = true // a library may have written a state into them
		case v.Kind == file.Number:
		case v.Kind == file.List:
			c.optimizer = c.optimizer || slices.ContainsFunc(v.Values, isOptimizer)
			c.open = c.open || slices.ContainsFunc(v.Values, unclear)
		default:
			c.alone, c.open = c.alone && !composite(v), true
		}
	}
}

// optimizerKey reports whether a key, in lower case, is one under which the state of an optimizer is kept.
func optimizerKey(key string) bool {
	return strings.Contains(key, "optim") || key == "opt" || key == "opt_state" || key == "adam" || key == "adamw" || key == "sgd" ||
		strings.HasPrefix(key, "opt_") && key != "opt_level" || strings.HasSuffix(key, "_opt")
}

func has(key string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(key, w) })
}

// options reports whether what stands under "opt" are a program's options: numbers and texts alone, and lists of them.
func options(key string, s *file.Shape) bool {
	scalar := func(v *file.Shape) bool {
		return v != nil && (v.Kind == file.Number || v.Kind == file.Float || v.Kind == file.Text || v.Kind == file.None)
	}
	set := s.Kind == file.Dict || s.Kind == file.Object && len(s.Keys) > 0 && len(s.Args) == 0 // argparse's Namespace
	return key == "opt" && set && !slices.ContainsFunc(s.Values, func(v *file.Shape) bool {
		return !scalar(v) && (v == nil || v.Kind != file.List || slices.ContainsFunc(v.Values, func(v *file.Shape) bool { return !scalar(v) }))
	})
}

// holds reports whether there is anything in a value.
func holds(s *file.Shape) bool {
	switch s.Kind {
	case file.None, file.Text, file.Number:
		return false
	case file.Dict, file.List:
		return s.Pairs > 0
	}
	return true
}

// isOptimizer knows the state of one of torch's optimizers by its form, whatever its key.
func isOptimizer(s *file.Shape) bool {
	if s != nil && s.Kind == file.Object && strings.HasPrefix(s.Class, "optax") {
		return true
	}
	if mu, nu := s.Get("mu"), s.Get("nu"); mu != nil && nu != nil && (mu.Kind == file.Dict && nu.Kind == file.Dict || s.Get("count") != nil) {
		return true // optax's, by the names of its fields
	}
	groups := s.Get("param_groups")
	return groups != nil && groups.Kind == file.List && s.Get("state") != nil
}

// unclear reports whether a value may hold what is not seen.
func unclear(s *file.Shape) bool {
	return s == nil || s.Kind == file.Object || s.Kind == file.Bytes || s.Kind == file.Other || len(s.Keys) < s.Pairs && s.Kind == file.Dict
}

// stripped reports whether a state was emptied of what training continues with: the key of the optimizer is there, and
// nothing under it, and the count of the training was put back to before the first (YOLO at its end).
func stripped(s *file.Shape) bool {
	var emptied, before bool
	for i, key := range s.Keys {
		v, lower := s.Values[i], strings.ToLower(key)
		switch {
		case v == nil:
		case optimizerKey(lower):
			emptied = emptied || v.Kind == file.None
		case slices.Contains(stepKeys, lower) || slices.Contains(epochKeys, lower):
			n, ok, err := v.Whole()
			before = before || err == nil && ok && n < 0
		}
	}
	return emptied && before
}

// isModule knows a whole model, pickled with its class.
func isModule(s *file.Shape) bool { return s.Get("_parameters") != nil && s.Get("_modules") != nil }

// step finds the step that a state says it is of: a number under a name for steps, then under one for epochs, in the
// dict itself and then in those that say how far a training run is.
func (w *weighing) step(s *file.Shape, depth int) tally {
	none := tally{n: -1}
	if isOptimizer(s) || isScheduler(s) { // they count on their own
		return none
	}
	keys := stepKeys
	if s.Get("ema") != nil { // YOLO: the updates are those of the average, which may have been started over
		keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == "updates" })
	}
	if found := w.number(s, keys, UnitStep); found.n >= 0 || found.err != nil {
		return w.notBelow(s, found)
	}
	if h := s.Get("optimizer_history"); h != nil && h.Kind == file.List && len(h.Values) == h.Pairs && h.Pairs > 0 { // fairseq
		if found := w.number(h.Values[h.Pairs-1], stepKeys, UnitStep); found.n >= 0 || found.err != nil {
			return found
		}
	}
	epoch := none
	for i, key := range s.Keys {
		v := s.Values[i]
		if v == nil || depth > 1 || !within[strings.ToLower(key)] || v.Kind != file.Dict && v.Kind != file.Object || !w.first(v) {
			continue
		}
		found := w.step(v, depth+1)
		if found.n >= 0 && found.unit == UnitStep || found.err != nil {
			return found
		}
		if found.n >= 0 {
			epoch = found
		}
	}
	found := w.number(s, epochKeys, UnitEpoch)
	weak := w.number(s, weakKeys, UnitStep)
	switch {
	case found.n >= 0 || found.err != nil:
		return found
	case epoch.n < 0:
		return weak
	}
	return epoch
}

// isScheduler knows the state of one of torch's schedulers of the learning rate, whose counts may be of anything.
func isScheduler(s *file.Shape) bool {
	return s.Get("last_epoch") != nil && (s.Get("_step_count") != nil || s.Get("base_lrs") != nil || s.Get("_last_lr") != nil)
}

// number is the first of these keys that has a whole number, which is the last under that key; the others are noted. The
// element of a tensor is none where there is nothing but tensors: modules have counters of their own among their buffers.
func (w *weighing) number(s *file.Shape, keys []string, unit Unit) tally {
	best := tally{n: -1}
	if s == nil {
		return best
	}
	mixed := false
	for i, key := range s.Keys {
		if v := s.Values[i]; v != nil && key != "_metadata" && !strings.HasSuffix(key, "_extra_state") {
			mixed = mixed || v.Kind == file.Number || v.Kind == file.Dict || v.Kind == file.List || v.Kind == file.Object
		}
	}
	for _, key := range keys {
		for i := len(s.Keys) - 1; i >= 0; i-- {
			if !strings.EqualFold(strings.TrimLeft(s.Keys[i], "_"), key) { // a field of its own: _global_step
				continue
			}
			v := s.Values[i]
			plain := v != nil && v.Kind == file.Number
			if !plain && !mixed {
				break
			}
			n, ok, err := v.Whole()
			if err != nil && best.n < 0 {
				return tally{n: -1, err: err}
			}
			if err != nil || !ok || n < 0 {
				break
			}
			found := tally{n: n, unit: unit, key: key, plain: plain}
			if w.counts = append(w.counts, found); best.n < 0 {
				best = found
			}
			break
		}
	}
	return best
}

// named is the content of a file that names its arrays and its numbers, without a pickle.
func named(names []string, numbers map[string]int64) content {
	c := content{step: -1, tensors: len(names) > 0, alone: len(names) > 0}
	for _, name := range names {
		lower := strings.ToLower(name)
		first, rest, _ := strings.Cut(lower, "/") // opt/0/mu/kernel, updater/optimizer:main/t
		if optimizerKey(first) || strings.HasPrefix(first, "adam_") || strings.HasPrefix(rest, "optimizer") ||
			strings.HasPrefix(first, "updaterstate") || // Deeplearning4j
			strings.Contains(lower, "exp_avg") || strings.Contains(lower, "momentum_buffer") {
			c.optimizer = true
		}
	}
	c.count(uppermost(numbers))
	c.alone = c.alone && !c.optimizer && !c.more
	return c
}

// uppermost leaves of numbers with paths for names those that belong to the whole: updater/iteration, and not
// updater/optimizer:main/epoch.
func uppermost(numbers map[string]int64) map[string]int64 {
	top := make(map[string]int64, len(numbers))
	for name, n := range numbers {
		if first, key, nested := strings.Cut(name, "/"); nested && !strings.Contains(key, "/") && !optimizerKey(strings.ToLower(first)) {
			top[key] = n
		}
	}
	for name, n := range numbers {
		top[name] = n
	}
	return top
}

// count takes the step from numbers with names.
func (c *content) count(numbers map[string]int64) {
	for _, keys := range [][]string{stepKeys, epochKeys} {
		unit := UnitStep
		if keys[0] == epochKeys[0] {
			unit = UnitEpoch
		}
		for _, key := range keys {
			n, ok := numbers[key]
			if !ok || n < 0 {
				continue
			}
			found := tally{n: n, unit: unit, key: key, plain: true}
			if c.counts = append(c.counts, found); c.step < 0 || belowEpoch(tally{c.step, c.unit, c.key, true, nil}, found) {
				c.at(found)
				c.more = true
			}
		}
	}
}
