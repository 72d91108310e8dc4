package record

import (
	"time"

	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/supervisor/node"
)

// straggles tells of a rank that makes the others wait.
func (r *Recorder) straggles(at time.Time, s node.Straggles) {
	if !r.active || r.stopping {
		return
	}
	e := event.Event{At: at, Type: event.StragglerFound, Straggler: &event.Straggler{
		Rank: s.Rank, Late: s.Late, Steps: s.Steps, By: event.ByArrival,
		ExcessSeconds: seconds(s.Excess), StepSeconds: seconds(s.Step),
	}}
	if s.Own {
		e.Straggler.By = event.ByOwnTime
	}
	if s.Over {
		e.Type = event.StragglerOver
	}
	r.tell()
	r.emit(e)
}

// slows tells of a node that makes the others wait. This one may have no workers.
func (r *Recorder) slows(at time.Time, s node.Slows) {
	if r.active && (r.stopping || r.round == nil || s.Round != *r.round) {
		return
	}
	e := event.Event{At: at, Type: event.StragglerFound, Straggler: &event.Straggler{
		Node: s.Node, Rank: s.Rank, Late: s.Minutes, Steps: s.Minutes, By: event.ByOwnTime,
		ExcessSeconds: seconds(s.Own - s.Others), StepSeconds: seconds(s.Step),
	}}
	if s.Over {
		e.Type, e.Straggler.Late = event.StragglerOver, 0
	}
	if s.Left {
		e.Straggler.ExcessSeconds = 0 // nobody compares
	}
	r.tell()
	r.emit(e)
}

// seconds are d's, to the millisecond.
func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
}
