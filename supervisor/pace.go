package supervisor

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/notify"
	"github.com/gangrun/gangrun/supervisor/straggler"
)

// watchPace begins to compare the ranks when workers run, and ends when they are gone. What was reported before they all
// ran is heard again.
func (s *Supervisor) watchPace() {
	switch state := s.node.State(); {
	case state == node.Running && s.stragglers == nil:
		s.stragglers, s.own = straggler.New(), straggler.NewOwn()
		s.round.afresh = true
		select {
		case s.heard <- struct{}{}:
		default:
		}
	case state != node.Running:
		s.stragglers, s.own = nil, nil
	}
}

// comparing calls f with what compares the ranks. A panic in it costs the comparison, and nothing else.
func (s *Supervisor) comparing(f func()) {
	defer func() {
		if what := recover(); what != nil {
			s.stragglers, s.own = straggler.Off(), nil
			s.log.Error("comparing the ranks failed; no straggler is named in this round; training continues",
				"error", fmt.Sprint(what), "stack", string(debug.Stack()))
		}
	}()
	f()
}

// pace takes the steps that the ranks have told since it was asked last, and returns those that turn out to make the
// others wait.
func (s *Supervisor) pace(steps []notify.Report) (named []straggler.Named) {
	if s.stragglers == nil {
		return nil
	}
	s.comparing(func() {
		slices.SortStableFunc(steps, func(a, b notify.Report) int { return a.At.Compare(b.At) }) // those of all ranks together
		for _, r := range steps {
			named = append(named, s.stragglers.Told(r.Rank, *r.Step, r.Own, r.At)...)
			s.own.Told(r.Rank, *r.Step, r.Own, r.At)
		}
	})
	return named
}

// ownTime is how long the ranks of this node take for their own part of a step, for the comparison of the nodes; nil if they
// do not report it.
func (s *Supervisor) ownTime(now time.Time) (own *rendezvous.OwnTime) {
	s.comparing(func() {
		if m := s.own.Latest(now); m != nil {
			own = &rendezvous.OwnTime{
				Minute: m.Number, Usec: m.Own.Microseconds(), Step: m.Step.Microseconds(), Steps: m.Steps,
				Rank: m.Rank, RankUsec: m.RankOwn.Microseconds(),
			}
		}
	})
	return own
}
