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
	only      bool // it is that, and nothing else
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
	packed  bool // there are bytes under a name, into which a library may have written a state
	number  bool // it is a bare number
	text    bool // it is text, under a name that does not say so
	// positional says that its arrays have no names of their own: what a tree was flattened to.
	positional bool
	fitted     bool    // it is an estimator of scikit-learn's, or a model of gradient boosting
	grown      bool    // it is the latter, whose trees are all of a state
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

// contentOf weighs the shape of what a file holds.
func contentOf(s *file.Shape) content {
	c := new(weighing).of(s, 0)
	c.read = true
	return c
}

// weighing is one walk through a shape. A pickle may hold the same value in many places, and itself: of each the first counts.
type weighing struct {
	seen   map[*file.Shape]bool
	listed map[*file.Shape]bool // the same, of what is below lists
	counts []tally              // that step has met
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
		if isFitted(s) {
			return content{step: -1, alone: true, tensors: true, fitted: true}
		}
		c.dict(w, s, 0, depth)
		c.only = isOptimizer(s)
		c.nested = slices.ContainsFunc(s.Values, composite)
		steps := new(weighing)
		c.at(steps.step(s, 0))
		c.counts = steps.counts
		c.more = c.more || isScheduler(s)
		switch {
		case isArguments(s) && !c.optimizer && !c.tensors:
			return content{step: -1, alone: true}
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
	if s.Kind == file.Object && (isModule(s) || isFitted(s)) {
		c.tensors = true
		return
	}
	if len(s.Keys) < s.Pairs { // there are keys that are no texts
		c.alone, c.open = c.alone && depth > 0, true
	}
	c.open = c.open || s.Kind == file.Object && (depth == 0 || !isArguments(s))
	for _, v := range s.Args {
		if composite(v) && !w.first(v) {
			continue
		}
		inner := w.of(v, level+1)
		c.optimizer, c.tensors = c.optimizer || inner.optimizer, c.tensors || inner.tensors
		// Of the fields of a named tuple nothing says what they are. Where they are tensors alone it is a layer.
		c.alone = c.alone && inner.alone && (!inner.tensors || v.Kind != file.Dict && v.Kind != file.List) && (v == nil || v.Kind != file.Number)
	}
	c.optimizer = c.optimizer || hasMoments(s)
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
		case (depth == 0 && has(lower, plannedWords) || depth <= 1 && optimizerKey(lower) && has(lower, plannedKeys)) && settings(v, 0):
		case depth <= 1 && optimizerKey(lower) && holds(v) && !options(lower, v):
			c.optimizer = true
		case depth <= 1 && moreKey(lower, v) && holds(v):
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
			c.open, c.packed = true, true
		case v.Kind == file.Number:
		case v.Kind == file.List:
			c.inList(w, v, level)
			c.open = c.open || slices.ContainsFunc(v.Values, unclear)
		default:
			c.alone, c.open = c.alone && !composite(v), true
		}
	}
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
	return s == nil || s.Kind == file.Object && !isArguments(s) || s.Kind == file.Bytes || s.Kind == file.Other || len(s.Keys) < s.Pairs && s.Kind == file.Dict
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

// isFitted knows an estimator of scikit-learn's, or several in a row, which is a model to be used by itself: its numbers and its
// optimizer are of how it was made. In a loop of partial_fit its name has a step, or it stands in a dict beside one.
func isFitted(s *file.Shape) bool {
	return s.Kind == file.Object && slices.ContainsFunc(fittedBy, func(library string) bool { return strings.HasPrefix(s.Class, library) })
}

// fittedBy are the libraries whose objects are such.
var fittedBy = []string{"sklearn.", "imblearn.", "autogluon.", "xgboost.", "lightgbm.", "catboost.", "sksurv.", "sktime.", "statsmodels.", "prophet.", "hmmlearn.", "umap."}

// isModule knows a whole model, pickled with its class.
func isModule(s *file.Shape) bool { return s.Get("_parameters") != nil && s.Get("_modules") != nil }
