// Package account turns the events of one gangrun process into what they come to: where it stands, where the time has
// gone, what has interrupted it and what that has cost. Metrics, the status, the page and the report all show this and
// count nothing themselves. It is pure: the same events give the same account at any time and place.
package account

import (
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
)

// What is kept, so that memory stays the same however long a run takes.
const (
	mostDisruptions = 64
	mostReasons     = 64 // more are added up as ReasonOther
	mostStragglers  = 64
)

// ReasonOther stands for reasons beyond the first 64, and ReasonAsked for those who ask for a restart.
const (
	ReasonOther = "Other"
	ReasonAsked = "Asked"
)

// Tally adds events up. Its zero value is an empty account that keeps the latest disruptions only.
type Tally struct {
	// All keeps all disruptions, for a report.
	All bool

	last event.Event // of those that were added
	mark time.Time   // up to here the time is accounted for

	phase      Phase
	since      time.Time
	started    event.Event
	end        *event.Event
	leaving    string
	round      *int
	workers    int
	exits      event.Ends
	checkpoint *event.Checkpoint
	restarts   event.Restarts
	banned     []string
	restarted  int

	stragglers map[straggler]event.Straggler // of this round
	progress   progress
	earlier    time.Duration // of progress.kept, what another process has done
	training   time.Duration // of all steps
	sources    map[Source]time.Duration
	stepTimes  Histogram

	ran       bool // the workers of this round
	stepping  bool // a step was told in this round
	stopAt    time.Time
	stopping  event.Stopping
	succeeded bool // the last round
	cause     *event.Failed
	unknown   bool // what the round resumes from only its first step tells

	open        *disruption // training does not go on yet
	first       *Disruption
	disruptions []Disruption
	causes      map[string]*cause // by reason
	reasons     map[string]int    // of restarts
	recoveries  map[Source]*Histogram
}

// Add takes the next event. Events of other processes, and those that were added before, are left alone.
func (t *Tally) Add(e event.Event) {
	if t.last.Source != "" && (e.Source != t.last.Source || e.Seq <= t.last.Seq) || e.Type == event.EventsDropped {
		return
	}
	if t.last.Source == "" {
		t.begin(e)
	}
	if t.end != nil {
		return
	}
	if e.At.Before(t.last.At) { // the clock was set
		e.At = t.last.At
	}
	t.last = e
	switch e.Type {
	case event.RoundBegan:
		t.began(e)
	case event.RoundRunning:
		t.spend(t.now(), e.At)
		t.enter(Running, e.At)
		t.ran = true
		if e.Running != nil {
			t.workers = e.Running.Workers
		}
		if !t.progress.any { // nobody tells when training goes on: this is what is known
			t.close(false)
		}
	case event.Progress:
		t.progressed(e)
	case event.SavingBegan:
		if t.stepping {
			t.train(e.At)
		}
	case event.SavingEnded:
		if t.stepping {
			t.spend(CheckpointSave, e.At)
		}
	case event.StragglerFound:
		if e.Straggler != nil && len(t.stragglers) < mostStragglers {
			if t.stragglers == nil {
				t.stragglers = map[straggler]event.Straggler{}
			}
			t.stragglers[stragglerOf(e.Straggler)] = *e.Straggler
		}
	case event.StragglerOver:
		if e.Straggler != nil {
			delete(t.stragglers, stragglerOf(e.Straggler))
		}
	case event.CheckpointSaved:
		t.checkpoint = e.Checkpoint
	case event.RoundStopping:
		clear(t.stragglers)
		if e.Stopping != nil {
			if t.now() != Unknown {
				t.spend(t.now(), e.At)
			}
			t.stopAt, t.stopping = e.At, *e.Stopping
			t.enter(Stopping, e.At)
		}
	case event.WorkerFailed:
		if e.Failed != nil && (t.cause == nil || e.Failed.Cause) {
			t.cause = e.Failed
		}
	case event.RoundEnded:
		t.roundEnded(e)
	case event.Leaving:
		if e.Leave != nil {
			t.leaving = e.Leave.Why
		}
	case event.RunEnded:
		t.ended(e)
	}
}

// begin opens the account. Where the first events are lost, in a file that was rotated, it begins with what there is.
func (t *Tally) begin(e event.Event) {
	t.started, t.mark = e, e.At
	t.sources, t.causes, t.reasons = map[Source]time.Duration{}, map[string]*cause{}, map[string]int{}
	t.recoveries = map[Source]*Histogram{}
	for _, s := range RecoveryPhases() {
		t.recoveries[s] = &Histogram{Bounds: recoveryBounds}
	}
	t.stepTimes.Bounds = stepBounds
	t.enter(Forming, e.At)
	if e.Started != nil {
		t.restarts.Max = e.Started.MaxRestarts
	}
	t.round = e.Round
	switch e.Type {
	case event.RunStarted, event.RoundBegan:
	default:
		if e.Round != nil {
			t.phase = Running
		}
	}
}

// Continue makes an empty account that of a gangrun which continues the training of an earlier one on the same node:
// what the first round does not resume from was lost by that one, and what it does counts for that one. Productive time
// can then be less than none.
func (t *Tally) Continue(before *Tally) {
	if before.end != nil && before.end.End != nil && before.end.End.Verdict == exitcodes.Success {
		return
	}
	t.progress = before.progress
	t.progress.samples = slices.Clone(before.progress.samples)
	t.earlier = before.progress.kept
}

// Phase is where the node stands, and since when.
func (t *Tally) Phase() (Phase, time.Time) { return t.phase, t.since }

func (t *Tally) enter(p Phase, at time.Time) { t.phase, t.since = p, at }

func (t *Tally) began(e event.Event) {
	t.spend(t.now(), e.At)
	t.enter(Starting, e.At)
	t.round, t.ran, t.stepping, t.succeeded, t.cause, t.unknown = e.Round, false, false, false, nil, false
	clear(t.stragglers)
	t.progress.newRound()
	b := e.Began
	if b == nil {
		return
	}
	t.restarts, t.banned = b.Restarts, b.Banned
	if b.Restart != nil {
		t.restarted++
		t.reasons[t.keyOf(b.Restart.Kind, b.Restart.Reason)]++
		if t.open != nil {
			t.open.Blamed = b.Restart.Node
		}
		t.settle(b.Restart.Kind, b.Restart.Reason)
	}
	switch r := b.Resume; {
	case r != nil && r.Step != nil && r.Unit == "":
		t.rewind(*r.Step)
	case b.StartsOver:
		t.rewind(0)
	default:
		t.unknown = true
	}
}

// rewind goes back to a step: what was made beyond it is lost.
func (t *Tally) rewind(step int64) {
	lost, steps, known := t.progress.rewind(step)
	t.book(LostProgress, lost)
	if known && t.open != nil {
		t.open.LostSteps = &steps
	}
}

func (t *Tally) progressed(e event.Event) {
	if e.Step == nil {
		return
	}
	if !t.stepping {
		t.stepping = true
		if t.phase == Forming { // what was before it is lost
			t.spend(t.now(), e.At)
		}
		if t.phase != Stopping {
			t.phase = Running
		}
		t.spend(Startup, e.At)
		if t.unknown { // by now it is known: the training has found a checkpoint by itself, or none
			t.rewind(max(*e.Step-1, 0))
			t.unknown = false
		}
		t.progress.reached(*e.Step, e.At)
		t.close(false)
		return
	}
	before := t.progress.step
	d := t.train(e.At)
	t.progress.reached(*e.Step, e.At)
	if n := *e.Step - before; n > 0 {
		t.stepTimes.Add(d/time.Duration(n), n)
		t.progress.steps += n
	}
}

func (t *Tally) roundEnded(e event.Event) {
	if t.phase == Forming { // what was before it is lost
		t.spend(t.now(), e.At)
	}
	if e.RoundEnd != nil {
		t.succeeded = e.RoundEnd.Verdict == exitcodes.Success
		t.exits.Succeeded += e.RoundEnd.Workers.Succeeded
		t.exits.Failed += e.RoundEnd.Workers.Failed
		t.exits.Stopped += e.RoundEnd.Workers.Stopped
	}
	if t.phase != Stopping { // it was given up before a worker ran
		t.stopAt, t.stopping = e.At, event.Stopping{By: event.ByJob, Why: "the round was given up before its workers ran"}
	}
	if !t.succeeded {
		t.interrupted(e)
	}
	t.spendToStop()
	t.spend(Stop, e.At)
	t.enter(Forming, e.At)
	t.workers, t.stepping = 0, false
}

func (t *Tally) ended(e event.Event) {
	t.spend(t.now(), e.At)
	t.enter(Ended, e.At)
	t.end = &e
	if e.End == nil {
		return
	}
	t.restarts = e.End.Restarts
	t.settleEnd(*e.End)
	t.close(true)
}
