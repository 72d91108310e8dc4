package format

import (
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// inList looks below a list for the state of an optimizer and for tensors: a program with several agents keeps a dict for each.
// Items of one form with nothing but tensors in them are samples.
func (c *content) inList(w *weighing, s *file.Shape, level int) {
	optimizer, tensors := w.below(s, level)
	c.optimizer = c.optimizer || optimizer
	c.tensors = c.tensors || tensors && (optimizer || !alike(s))
}

func (w *weighing) below(s *file.Shape, level int) (optimizer, tensors bool) {
	if w.listed == nil {
		w.listed = map[*file.Shape]bool{}
	}
	if w.listed[s] || level > maxContentDepth {
		return false, false
	}
	w.listed[s] = true
	for _, v := range s.Values {
		switch {
		case v == nil:
		case isOptimizer(v):
			optimizer = true
		case v.Kind == file.Object && isModule(v):
			tensors = true
		case composite(v):
			o, t := w.below(v, level+1)
			optimizer, tensors = optimizer || o, tensors || t
		default: // a tensor in the list itself may be of anything
			tensors = tensors || v.Kind == file.Tensor && s.Kind != file.List
		}
	}
	return optimizer, tensors
}

// argumentClasses are the last words in the names of classes that hold what a program was started with.
var argumentClasses = []string{"namespace", "arguments", "args", "hparams"}

// isArguments knows what a program was started with by its class: argparse's Namespace. Its numbers say what is to be done.
func isArguments(s *file.Shape) bool {
	_, class, _ := strings.Cut(strings.ToLower(s.Class), " ")
	return s.Kind == file.Object && slices.ContainsFunc(argumentClasses, func(end string) bool { return strings.HasSuffix(class, end) })
}
