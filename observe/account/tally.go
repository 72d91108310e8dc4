// Package account turns the events of one gangrun process into what they come to: where it stands, where the time has
// gone, what has interrupted it and what that has cost. Metrics, the status, the page and the report all show this and
// count nothing themselves. It is pure: the same events give the same account at any time and place.
package account

import (
	"cmp"
	"maps"
	"math"
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

	stragglers map[int]event.Straggler // of this round, by rank
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
				t.stragglers = map[int]event.Straggler{}
			}
			t.stragglers[e.Straggler.Rank] = *e.Straggler
		}
	case event.StragglerOver:
		if e.Straggler != nil {
			delete(t.stragglers, e.Straggler.Rank)
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

// spend books the time up to at.
func (t *Tally) spend(on Source, at time.Time) {
	d := at.Sub(t.mark)
	if d <= 0 {
		return
	}
	t.mark = at
	t.book(on, d)
}

func (t *Tally) book(on Source, d time.Duration) {
	t.sources[on] += d
	if t.open != nil {
		t.open.cost[on] += d
	}
}

// train books the time up to at as training.
func (t *Tally) train(at time.Time) time.Duration {
	d := at.Sub(t.mark)
	if d <= 0 {
		return 0
	}
	t.mark = at
	t.training += d
	t.progress.made(d)
	return d
}

func (t *Tally) began(e event.Event) {
	t.spend(t.now(), e.At)
	t.enter(Starting, e.At)
	t.round, t.ran, t.stepping, t.succeeded, t.cause, t.unknown = e.Round, false, false, false, nil, false
	t.progress.newRound()
	b := e.Began
	if b == nil {
		return
	}
	t.restarts, t.banned = b.Restarts, b.Banned
	if b.Restart != nil {
		t.restarted++
		t.reasons[t.keyOf(b.Restart.Kind, b.Restart.Reason)]++
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
	switch {
	case !t.stepping && (t.progress.any || !t.ran):
		t.spend(Startup, t.stopAt)
	case !t.stepping:
		t.spend(Unknown, t.stopAt)
	case t.succeeded || t.stopping.By == event.ByOutside:
		t.spend(Other, t.stopAt)
	default:
		if cut := t.mark.Add(t.progress.stepTime()); cut.Before(t.stopAt) {
			t.spend(LostProgress, cut)
			t.spend(Detection, t.stopAt)
		} else {
			t.spend(LostProgress, t.stopAt)
		}
	}
	t.spend(Stop, e.At)
	t.enter(Forming, e.At)
	t.workers, t.stepping = 0, false
}

// now is what the time is that passes; Unknown where only the next event tells.
func (t *Tally) now() Source {
	switch {
	case t.phase == Starting:
		return Startup
	case t.phase != Forming:
		return Unknown
	case t.succeeded:
		return Other
	}
	return Rendezvous
}

func (t *Tally) ended(e event.Event) {
	t.spend(t.now(), e.At)
	t.enter(Ended, e.At)
	t.end = &e
	if e.End == nil {
		return
	}
	t.restarts = e.End.Restarts
	if t.open != nil {
		reason := e.End.Reason
		if c := e.End.RootCause; c != nil {
			reason = cmp.Or(c.Reason, reason)
			t.open.Node = cmp.Or(c.Node, t.open.Node)
		}
		kind := event.Failure
		if e.End.Verdict == exitcodes.Preempted || e.End.Verdict == exitcodes.Suspended {
			kind = event.Departure
		}
		t.settle(kind, reason)
	}
	t.close(true)
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

// named are the stragglers, the worst first.
func (t *Tally) named() []event.Straggler {
	return slices.SortedFunc(maps.Values(t.stragglers), func(a, b event.Straggler) int {
		return cmp.Or(-cmp.Compare(a.ExcessSeconds, b.ExcessSeconds), a.Rank-b.Rank)
	})
}

// Seconds are d's, to the millisecond.
func Seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// At is the account at now, or at the end of the run where that came before.
func (t *Tally) At(now time.Time) Summary {
	now = event.Time(now)
	if t.end != nil || now.Before(t.last.At) {
		now = t.last.At
	}
	s := Summary{
		V: 1, Stragglers: t.named(), Job: t.last.Job, Node: t.last.Node, Role: t.last.Role, Source: t.last.Source, Run: t.last.Run,
		Phase: t.phase, Since: t.since, Leaving: t.leaving, Round: t.round, Workers: t.workers, Exits: t.exits,
		StepAt: t.progress.at, StepTime: Seconds(t.progress.stepTime()), Checkpoint: t.checkpoint,
		StartedAt: t.started.At, At: now, Elapsed: Seconds(now.Sub(t.started.At)),
		Productive: Seconds(t.progress.kept - t.earlier), Training: Seconds(t.training), Badput: map[Source]float64{},
		Restarts: t.restarts, Banned: t.banned, Restarted: t.restarted, First: t.first,
		Disruptions: slices.Clone(t.disruptions), Causes: []Cause{},
	}
	if t.progress.any {
		step, most := t.progress.step, t.progress.most
		s.Step, s.StepMax = &step, &most
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
