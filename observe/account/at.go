package account

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gangrun/gangrun/observe/event"
)

// mostRemaining is what a training run may take that has an end in sight.
const mostRemaining = 10 * 365 * 24 * time.Hour

// At is the account at now, or at the end of the run where that came before.
func (t *Tally) At(now time.Time) Summary {
	now = event.Time(now)
	if t.end != nil || now.Before(t.last.At) {
		now = t.last.At
	}
	s := Summary{
		V: 1, Stragglers: t.named(false), SlowNodes: t.named(true), Job: t.last.Job, Node: t.last.Node, Role: t.last.Role, Source: t.last.Source, Run: t.last.Run,
		Phase: t.phase, Since: t.since, Leaving: t.leaving, Round: t.round, Workers: t.workers, Exits: t.exits,
		StepAt: t.progress.at, StepTime: Seconds(t.progress.stepTime()), Steps: t.last.Steps, Checkpoint: t.checkpoint,
		StartedAt: t.started.At, At: now, Elapsed: Seconds(now.Sub(t.started.At)),
		Productive: Seconds(t.progress.kept - t.earlier), Training: Seconds(t.training), Badput: map[Source]float64{},
		Restarts: t.restarts, Banned: t.banned, Restarted: t.restarted, First: t.first,
		Disruptions: slices.Clone(t.disruptions), Causes: []Cause{},
	}
	if t.progress.any {
		step, most := t.progress.step, t.progress.most
		s.Step, s.StepMax = &step, &most
		if each := t.progress.stepTime(); s.Steps != nil && each > 0 {
			// Who has no end says a number that nobody reaches; the product has no place in a duration then.
			if left := float64(max(*s.Steps-step, 0)) * each.Seconds(); left <= mostRemaining.Seconds() {
				left = Seconds(time.Duration(left * float64(time.Second)))
				s.Remaining = &left
			}
		}
		if elapsed := now.Sub(t.started.At); elapsed > 0 {
			ratio := math.Round((t.progress.kept-t.earlier).Seconds()/elapsed.Seconds()*1e6) / 1e6
			s.Goodput = &ratio
		}
	}
	passed, on := now.Sub(t.mark), t.now()
	if on == Unknown {
		s.Pending = Seconds(passed)
	}
	for _, source := range Sources() {
		spent := t.sources[source]
		if source == on && on != Unknown {
			spent += passed
		}
		s.Badput[source] = Seconds(spent)
	}
	if t.open != nil {
		s.Disruptions = append(s.Disruptions, t.open.shown())
		if s.First == nil {
			first := t.open.shown()
			s.First = &first
		}
	}
	if t.end != nil {
		s.Outcome = t.end.End
		if t.end.Step != nil {
			s.Step = t.end.Step
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(t.causes)) {
		c := t.causes[reason]
		s.Causes = append(s.Causes, Cause{Reason: reason, Count: c.count, Seconds: Seconds(c.time), LostSteps: c.steps})
	}
	s.Reasons = maps.Clone(t.reasons)
	slices.SortStableFunc(s.Causes, func(a, b Cause) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return s
}

// named are the stragglers, nodes or ranks of this one, the worst first.
func (t *Tally) named(nodes bool) (named []event.Straggler) {
	for who, s := range t.stragglers {
		if (who.node != "") == nodes {
			named = append(named, s)
		}
	}
	slices.SortFunc(named, func(a, b event.Straggler) int {
		return cmp.Or(-cmp.Compare(a.ExcessSeconds, b.ExcessSeconds), cmp.Compare(a.Node, b.Node), a.Rank-b.Rank)
	})
	return named
}

// straggler is whom the others wait for: a node, or a rank of this one.
type straggler struct {
	node string
	rank int
}

func stragglerOf(s *event.Straggler) straggler {
	if s.Node != "" {
		return straggler{node: s.Node} // whichever of its ranks takes longest
	}
	return straggler{rank: s.Rank}
}
