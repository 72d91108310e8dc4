package format

import (
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

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
	epoch, lesser := none, none // of steps under a name of a program's own, which may count something beside the training
	for i, key := range s.Keys {
		v := s.Values[i]
		if v == nil || depth > 1 || !within[strings.ToLower(key)] || v.Kind != file.Dict && v.Kind != file.Object || !w.first(v) {
			continue
		}
		found := w.step(v, depth+1)
		switch {
		case found.n >= 0 && found.unit == UnitStep && slices.Contains(stepKeys, found.key), found.err != nil:
			return w.notBelow(s, found)
		case found.n >= 0 && found.unit == UnitStep:
			lesser = found
		case found.n >= 0:
			epoch = found
		}
	}
	found := w.number(s, epochKeys, UnitEpoch)
	weak := w.weak(s)
	switch {
	case found.n >= 0 || found.err != nil:
		return found
	case lesser.n >= 0:
		return lesser
	case epoch.n >= 0:
		return epoch
	}
	if found := w.composed(s); found.n >= 0 || found.err != nil {
		return found
	}
	if found := w.inOther(s, depth); found.n >= 0 || found.err != nil {
		return found
	}
	return weak
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
			strings.Contains(lower, "exp_avg") || strings.Contains(lower, "momentum") || strings.Contains(lower, "(adam") { // objax: (Momentum).m
			c.optimizer = true
		}
	}
	c.count(uppermost(numbers))
	c.alone = c.alone && !c.optimizer && !c.more
	return c
}

// done leaves of the fields of a program those that count what was done: others say what is to be.
func done(numbers map[string]int64) map[string]int64 {
	counts := map[string]int64{}
	for _, key := range []string{"num_timesteps", "global_step", "step", "iteration"} {
		if n, found := numbers[key]; found {
			counts[key] = n
		}
	}
	return counts
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
