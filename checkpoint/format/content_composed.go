package format

import (
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// Programs make the name under which they count of a word for what is counted and of words that say that it was done:
// steps_taken, epoch_no, global_it. Where none of the usual names is there, such a one is the step.

var (
	countedSteps  = set("step steps iter iters iteration iterations it itr update updates batch batches timestep timesteps frame frames")
	countedEpochs = set("epoch epochs ep episode episodes")
	// doneWords say no more than that it is a count, or of what was done. Those that may as well say how much there will be,
	// beside a plural, are not enough.
	doneWords = set("cur curr current last latest idx index count counter no nr id i number done completed complete finished trained taken run seen processed so far " +
		"resume next start begin elapsed passed")
	vagueWords = set("n nb num total train training global optimizer opt")
)

// composed is the first count under such a name, of steps before of epochs.
func (w *weighing) composed(s *file.Shape) tally {
	for _, unit := range []Unit{UnitStep, UnitEpoch} {
		var keys []string
		for _, key := range s.Keys {
			if of, ok := countOf(key); ok && of == unit {
				keys = append(keys, strings.TrimLeft(key, "_"))
			}
		}
		if found := w.number(s, keys, unit); found.n >= 0 || found.err != nil {
			return found
		}
	}
	return tally{n: -1}
}

// plannedWords are in the names of what a program was told to do.
var plannedWords = []string{"param", "setting", "option", "opts", "flag", "setup", "plan", "spec"}

// plannedKeys are the words that say so of an optimizer: optimizer_cfg.
var plannedKeys = append([]string{"config", "cfg", "conf", "arg", "kwargs", "type", "name", "class"}, plannedWords...)

// inOther is a plain count in the one dict of a state that has such a one and no tensors, whatever its name, but for what says
// something about the weights or counts on its own: reporter, tracker.
func (w *weighing) inOther(s *file.Shape, depth int) tally {
	only := tally{n: -1}
	for i, key := range s.Keys {
		v, lower := s.Values[i], strings.ToLower(key)
		if depth > 0 || v == nil || v.Kind != file.Dict && v.Kind != file.Object || isOptimizer(v) || isScheduler(v) || isArguments(v) || isModule(v) ||
			optimizerKey(lower) || moreKey(lower, v) || has(lower, aboutWords) || has(lower, plannedWords) || hasTensor(v) {
			continue
		}
		for _, unit := range []Unit{UnitStep, UnitEpoch} {
			keys := []string{"global_step", "step", "iteration"}
			if unit == UnitEpoch {
				keys = []string{"epoch"}
			}
			found := w.number(v, keys, unit)
			switch {
			case found.err != nil:
				return found
			case found.n < 0:
				continue
			case only.n >= 0:
				return tally{n: -1}
			}
			only = found
			break
		}
	}
	return only
}

// settings reports whether a dict holds numbers and texts, and dicts and lists of them, alone, and no state of an optimizer.
func settings(s *file.Shape, depth int) bool {
	if s == nil || depth > maxContentDepth || isOptimizer(s) || len(s.Keys) < s.Pairs && s.Kind == file.Dict {
		return false
	}
	switch s.Kind {
	case file.Number, file.Float, file.Text, file.None:
		return depth > 0
	case file.Dict, file.List:
		return !slices.ContainsFunc(s.Values, func(v *file.Shape) bool { return !settings(v, depth+1) })
	}
	return s.Kind == file.Object && isArguments(s)
}

func hasTensor(s *file.Shape) bool {
	return slices.ContainsFunc(s.Values, func(v *file.Shape) bool { return v != nil && v.Kind == file.Tensor })
}

// countOf is what a name made of words counts.
func countOf(key string) (unit Unit, ok bool) {
	of, done, vague, plural := "", false, false, false
	for _, p := range pieces(key) {
		switch {
		case p.number:
			return "", false
		case of == "" && (countedSteps[p.text] || countedEpochs[p.text]):
			of, plural = p.text, strings.HasSuffix(p.text, "s")
		case doneWords[p.text]:
			done = true
		case vagueWords[p.text]:
			vague = true
		default:
			return "", false
		}
	}
	if countedEpochs[of] {
		unit = UnitEpoch
	}
	if strings.HasPrefix(of, "timestep") || strings.HasPrefix(of, "frame") { // of a diffusion, of a clip
		return unit, done
	}
	return unit, of != "" && (done || !plural || !vague)
}
