package node

import (
	"fmt"
	"slices"

	"github.com/gangrun/gangrun/internal/words"
	"github.com/gangrun/gangrun/rendezvous"
)

// looks reports whether all ranks of the workers that run have said that they look at the file.
func (n *Node) looks() bool {
	some := false
	for i := range n.workers {
		if w := &n.workers[i]; !w.ended {
			if !w.report.Looks {
				return false
			}
			some = true
		}
	}
	return some
}

// mayLose reports whether the workers are known to train: steps were reported, or there is a checkpoint. Other programs
// are not expected to save.
func (n *Node) mayLose() bool {
	return n.saved != nil || slices.ContainsFunc(n.workers, func(w worker) bool { return w.report.Step != nil || w.report.Most != nil })
}

// blind says which ranks have not said that they look at the file.
func (n *Node) blind() string {
	var names []string
	some := false
	for i := range n.workers {
		w := &n.workers[i]
		switch {
		case w.ended:
		case w.report.Looks:
			some = true
		case w.Rank >= 0 || len(w.report.Blind) == 0:
			names = append(names, w.name())
		default:
			for _, rank := range w.report.Blind {
				if rank < 0 { // it does not say which it is
					names = append(names, w.name())
					continue
				}
				names = append(names, fmt.Sprintf("rank %d", rank))
			}
			some = some || w.report.Most != nil
		}
	}
	if !some {
		return "no rank has said that it looks at " + StopFileVariable
	}
	return words.Few(names) + " did not say that it looks at " + StopFileVariable
}

// name is what a person knows the worker by.
func (w *worker) name() string {
	if w.Rank < 0 {
		return "the worker"
	}
	return fmt.Sprintf("rank %d", w.Rank)
}

// tellLooks tells the job once that the ranks look, so that it knows whom it may ask.
func (n *Node) tellLooks() {
	if n.state == Running && !n.knows && n.looks() {
		n.knows = true
		n.do(Serve{rendezvous.Service{Round: n.round(), Looks: true}})
	}
}
