// Package record turns what a node is told and decides into the events that others see. It is pure: the steps of
// package node in, events out, and no clock but the one that is handed in.
package record

import (
	"fmt"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/node"
)

// Config is what does not change in a run.
type Config struct {
	Source          string // random: see event.Event
	Version         string // of gangrun
	Job, Node, Role string
	MaxRestarts     int
	StartedAt       time.Time
}

// Recorder follows one node. Only Step changes it.
type Recorder struct {
	cfg Config
	seq int64
	out []event.Event // of the step

	run      string
	round    *int
	budget   rendezvous.Budget  // as last told
	charged  *rendezvous.Budget // as it was when the last round began; nil before the first
	saved    *node.Saved
	message  exitcodes.Message // the newest record
	active   bool              // from the order to begin a round until nothing of it is left
	stopping bool
	ended    bool // the run
	workers  int  // of the round
	ends     event.Ends
	saving   bool
	ranks    []int // of the workers; -1 where that is not known
	behind   int64 // steps, of the furthest
	slowest  int   // index of the worker that is

	step   *int64 // of the round; nil: none was told
	stepAt time.Time
	total  *int64 // steps that the training run has; nil: nobody has told
	told   *int64 // the last that an event has told
	toldAt time.Time
	before *int64 // the step with which the round before has ended
}

// New is the recorder of a node, and its first event.
func New(cfg Config) (*Recorder, []event.Event) {
	r := &Recorder{cfg: cfg}
	r.emit(event.Event{At: cfg.StartedAt, Type: event.RunStarted, Started: &event.Started{
		Version: event.Text(cfg.Version), MaxRestarts: cfg.MaxRestarts,
	}})
	return r, r.out
}

// Step takes a step of the node as it was taken at that time, and returns what there is to tell.
func (r *Recorder) Step(at time.Time, ev node.Event, effects []node.Effect) []event.Event {
	r.out = nil
	switch ev := ev.(type) {
	case node.Budget:
		r.budget = ev.Budget
	case node.Saved:
		r.savedAt(at, ev)
	case node.Begin:
		r.begins(at, ev, effects)
	case node.Prepared:
		r.workers = max(len(ev.Workers), 1)
		r.ranks = r.ranks[:0]
		for _, w := range ev.Workers {
			r.ranks = append(r.ranks, w.Rank)
		}
	case node.Forked:
		r.forked(at, ev, effects)
	case node.Reported:
		r.reported(at, ev)
		if why := saidWrong(effects); why != "" {
			r.stops(at, event.ByHealth, why)
		}
	case node.Straggles:
		r.straggles(at, ev)
	case node.Slows:
		r.slows(at, ev)
	case node.Stop:
		if r.round != nil && ev.Round == *r.round {
			r.stops(at, event.ByJob, ev.Why)
		}
	}
	for _, e := range effects {
		r.effect(at, e, effects)
	}
	return r.out
}

func (r *Recorder) effect(at time.Time, e node.Effect, all []node.Effect) {
	switch e := e.(type) {
	case node.Gather:
		when := e.Outcome.At
		if when.IsZero() || when.After(at) {
			when = at
		}
		r.stops(when, event.ByWorker, ended(e.Outcome))
	case node.Failing:
		if e.Outcome.Reason == exitcodes.ReasonHang { // they are ended only now, and say why they hang
			r.stops(at, event.ByHealth, e.Outcome.Message)
		}
	case node.Record:
		r.message = e.Message
	case node.Leave:
		r.leaves(at, all)
	case node.Concluded:
		r.concluded(at, e)
	case node.Gone:
		r.gone(at, e)
	case node.Flush:
		r.end(at)
	}
}

// emit completes an event and puts it out.
func (r *Recorder) emit(e event.Event) {
	r.seq++
	e.V, e.Seq, e.Source = event.Version, r.seq, r.cfg.Source
	e.ID = fmt.Sprintf("%s-%d", r.cfg.Source, r.seq)
	e.At = event.Time(e.At)
	e.Job, e.Node, e.Role, e.Run = event.Text(r.cfg.Job), event.Text(r.cfg.Node), event.Text(r.cfg.Role), event.Text(r.run)
	e.Round = r.round
	if e.Step == nil {
		e.Step = r.step
	}
	e.Steps = r.total
	r.out = append(r.out, e)
}
