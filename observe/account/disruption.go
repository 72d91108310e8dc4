package account

import (
	"cmp"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
)

// disruption is one whose cost still grows.
type disruption struct {
	Disruption
	key  string // of its cause; empty while that is not known
	cost map[Source]time.Duration
}

type cause struct {
	count int
	time  time.Duration
	steps int64
}

// interrupted opens a disruption: the round has ended, and training does not go on yet.
func (t *Tally) interrupted(e event.Event) {
	t.close(false) // an earlier one from which training has never come back
	t.open = &disruption{cost: map[Source]time.Duration{}, Disruption: Disruption{
		At: t.stopAt, By: t.stopping.By, Why: t.stopping.Why, Cause: t.cause,
	}}
	if t.round != nil {
		t.open.Round = *t.round
	}
	if t.cause != nil {
		t.open.Node = e.Node
	}
}

// settle notes why the last round was interrupted.
func (t *Tally) settle(kind event.Kind, reason string) {
	if t.open == nil {
		return
	}
	t.open.Kind, t.open.Reason = kind, reason
	t.open.key = t.keyOf(kind, reason)
	t.causes[t.open.key].count++
}

// keyOf is what a reason is added up under. From then on there is a cause of it.
func (t *Tally) keyOf(kind event.Kind, reason string) string {
	if kind == event.Asked {
		reason = ReasonAsked
	}
	reason = cmp.Or(reason, ReasonOther)
	if _, found := t.causes[reason]; !found && len(t.causes) >= mostReasons {
		reason = ReasonOther
	}
	if t.causes[reason] == nil {
		t.causes[reason] = &cause{}
	}
	return reason
}

// settleEnd notes why the run has ended, where that was an interruption.
func (t *Tally) settleEnd(end event.End) {
	if t.open == nil {
		return
	}
	reason := end.Reason
	if c := end.RootCause; c != nil {
		reason = cmp.Or(c.Reason, reason)
		t.open.Node = cmp.Or(c.Node, t.open.Node)
	}
	kind := event.Failure
	if end.Verdict == exitcodes.Preempted || end.Verdict == exitcodes.Suspended {
		kind = event.Departure
	}
	t.settle(kind, reason)
}

// close ends the disruption that is open: training goes on, or the run has ended.
func (t *Tally) close(final bool) {
	d := t.open
	if d == nil {
		return
	}
	t.open = nil
	d.Over, d.Final = true, final
	for phase, h := range t.recoveries {
		h.Add(d.cost[phase], 1)
	}
	if c := t.causes[d.key]; c != nil {
		for _, spent := range d.cost {
			c.time += spent
		}
		if d.LostSteps != nil {
			c.steps += *d.LostSteps
		}
	}
	shown := d.shown()
	if t.first == nil {
		t.first = &shown
	}
	t.disruptions = append(t.disruptions, shown)
	if !t.All && len(t.disruptions) > mostDisruptions {
		t.disruptions = slices.Delete(t.disruptions, 0, 1)
	}
}

func (d *disruption) shown() Disruption {
	s := d.Disruption
	s.Cost = map[Source]float64{}
	var total time.Duration
	for source, spent := range d.cost {
		s.Cost[source] = Seconds(spent)
		total += spent
	}
	s.Total = Seconds(total)
	return s
}
