package supervisor

import (
	"fmt"
	"runtime/debug"

	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/notify"
	"github.com/gangrun/gangrun/supervisor/straggler"
)

// watchPace begins to compare the ranks when workers run, and ends when they are gone.
func (s *Supervisor) watchPace() {
	switch state := s.node.State(); {
	case state == node.Running && s.stragglers == nil:
		s.stragglers = straggler.New()
	case state != node.Running:
		s.stragglers = nil
	}
}

// pace takes what the ranks of a worker have told, and returns those that turn out to make the others wait. rank is the
// worker's own. What goes wrong here costs the names, and nothing else.
func (s *Supervisor) pace(rank int, reports []notify.Report) (named []straggler.Named) {
	if s.stragglers == nil {
		return nil
	}
	defer func() {
		if what := recover(); what != nil {
			s.stragglers = straggler.Off()
			s.log.Error("the comparison of the ranks has failed, and no straggler is named in this round; training goes on",
				"error", fmt.Sprint(what), "stack", string(debug.Stack()))
		}
	}()
	for _, r := range reports {
		if r.Rank < 0 {
			r.Rank = rank
		}
		if r.Step != nil {
			named = append(named, s.stragglers.Told(r.Rank, *r.Step, r.Own, r.At)...)
		}
	}
	return named
}
