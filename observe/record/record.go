// Package record turns what a node is told and decides into the events that others see. It is pure: the steps of
// package node in, events out, and no clock but the one that is handed in.
package record

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/node"
)

// progressEvery is how often the step is told at most while nothing else happens.
const progressEvery = 5 * time.Second

// mostFailed is how many workers of one node are named in one round; the others are counted.
const mostFailed = 16

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
	case node.Accused:
		r.stops(at, event.ByHealth, "a worker "+ev.Why)
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

// tell puts out the step that nobody was told of yet, as of when it was reached.
func (r *Recorder) tell() {
	if r.step == nil || r.told != nil && *r.told == *r.step {
		return
	}
	r.told, r.toldAt = r.step, r.stepAt
	r.emit(event.Event{At: r.stepAt, Type: event.Progress})
}

func (r *Recorder) savedAt(at time.Time, s node.Saved) {
	if old := r.saved; old != nil && old.Path == s.Path && old.Step == s.Step && old.Modified.Equal(s.Modified) {
		return
	}
	r.saved = &s
	r.tell()
	r.emit(event.Event{At: at, Type: event.CheckpointSaved, Checkpoint: &event.Checkpoint{
		Path: event.Text(s.Path), Step: s.Step, Modified: event.Time(s.Modified),
	}})
}

// begins tells of a round that begins, unless the node does not take part.
func (r *Recorder) begins(at time.Time, b node.Begin, effects []node.Effect) {
	if !slices.ContainsFunc(effects, func(e node.Effect) bool {
		switch e.(type) {
		case node.Prepare, node.Gather:
			return true
		}
		return false
	}) {
		return
	}
	number := b.Round
	r.run, r.round = b.Run, &number
	r.active, r.stopping, r.saving, r.behind = true, false, false, 0
	r.workers, r.ends = 1, event.Ends{}
	r.step, r.told = nil, nil
	began := &event.Began{Restarts: r.restarts(), Restart: r.restart()}
	if b.Path != "" {
		began.Resume = &event.Resume{Path: event.Text(b.Path), Step: b.Step, Unit: b.Unit, FallBack: b.FallBack}
	}
	began.StartsOver = b.Path == "" && b.Looked
	began.LostSteps = r.lost(b)
	for _, host := range b.Banned {
		began.Banned = append(began.Banned, event.Text(host))
	}
	charged := r.budget
	r.charged = &charged
	r.emit(event.Event{At: at, Type: event.RoundBegan, Began: began})
}

// lost is how many steps are to be made again; nil where it is not known.
func (r *Recorder) lost(b node.Begin) *int64 {
	var from int64
	switch {
	case r.before == nil || b.Unit != "":
		return nil
	case b.Path == "" && !b.Looked:
		return nil // what the training script finds by itself is unknown
	case b.Path != "" && b.Step == nil:
		return nil
	case b.Path != "":
		from = *b.Step
	}
	lost := max(*r.before-from, 0)
	return &lost
}

// restart is why there is another round, by what the job's budget was charged with.
func (r *Recorder) restart() *event.Restart {
	if r.charged == nil {
		return nil
	}
	switch {
	case r.budget.Total > r.charged.Total:
		reason, _, _ := strings.Cut(r.budget.Cause, "/") // what follows tells failures of one reason apart
		return &event.Restart{Kind: event.Failure, Reason: event.Text(reason)}
	case r.budget.Preemptions > r.charged.Preemptions:
		return &event.Restart{Kind: event.Departure, Reason: exitcodes.ReasonPreempted}
	}
	return &event.Restart{Kind: event.Asked}
}

func (r *Recorder) restarts() event.Restarts {
	return event.Restarts{
		Used: r.budget.Used, Max: r.cfg.MaxRestarts, Total: r.budget.Total, Preemptions: r.budget.Preemptions,
	}
}

func (r *Recorder) forked(at time.Time, f node.Forked, effects []node.Effect) {
	if f.Worker < 0 || f.Worker+1 != r.workers || !r.active || r.stopping {
		return
	}
	running := &event.Running{Workers: r.workers}
	for _, e := range effects {
		if rec, ok := e.(node.Record); ok {
			running.RecoverySeconds = rec.RecoverySeconds
		}
	}
	r.emit(event.Event{At: at, Type: event.RoundRunning, Running: running})
}

// reported notes the step that every worker which reports has finished, and whether one saves.
func (r *Recorder) reported(at time.Time, reports node.Reported) {
	if !r.active {
		return
	}
	var lowest, highest *int64
	saving := false
	for i, report := range reports {
		if report.Step != nil && (lowest == nil || *report.Step < *lowest) {
			lowest, r.slowest = report.Step, i
		}
		if report.Step != nil && (highest == nil || *report.Step > *highest) {
			highest = report.Step
		}
		saving = saving || report.Saving
		if report.Total != nil {
			r.total = report.Total
		}
	}
	if lowest != nil {
		r.behind = *highest - *lowest
	}
	if lowest != nil && (r.step == nil || *lowest != *r.step) {
		step := *lowest
		r.step, r.stepAt = &step, at
		if r.told == nil || at.Sub(r.toldAt) >= progressEvery {
			r.tell()
		}
	}
	if saving != r.saving {
		r.saving = saving
		r.tell()
		kind := event.SavingEnded
		if saving {
			kind = event.SavingBegan
		}
		r.emit(event.Event{At: at, Type: kind})
	}
}

// straggles tells of a rank that makes the others wait.
func (r *Recorder) straggles(at time.Time, s node.Straggles) {
	if !r.active {
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

// slows tells of a node that makes the others wait.
func (r *Recorder) slows(at time.Time, s node.Slows) {
	if !r.active || r.round == nil || s.Round != *r.round {
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

// Place is where the workers of the round are right now, which events tell only now and then.
type Place struct {
	Step   *int64 // that every worker which reports has finished; nil: none was told
	Saving bool   // a worker says that it saves a checkpoint
	// Behind is how many steps the slowest of those that report is behind the fastest, and Rank is that one's; -1 where it
	// has none.
	Behind int64
	Rank   int
}

// Now is where the workers are; nowhere without a round.
func (r *Recorder) Now() Place {
	p := Place{Rank: -1}
	if !r.active {
		return p
	}
	p.Step, p.Saving, p.Behind = r.step, r.saving, r.behind
	if r.behind > 0 && r.slowest < len(r.ranks) {
		p.Rank = r.ranks[r.slowest]
	}
	return p
}

// saidWrong is what the node has said about a worker that it stops because of what was reported.
func saidWrong(effects []node.Effect) (why string) {
	sent := false
	for _, e := range effects {
		switch e := e.(type) {
		case node.Log:
			if e.Level >= slog.LevelError {
				why = e.Text
			}
		case node.Send:
			sent = sent || e.Signal == node.SIGTERM
		}
	}
	if !sent {
		return ""
	}
	return why
}

// stops tells once that a round stops.
func (r *Recorder) stops(at time.Time, by event.By, why string) {
	if !r.active || r.stopping {
		return
	}
	r.stopping = true
	r.tell()
	r.emit(event.Event{At: at, Type: event.RoundStopping, Stopping: &event.Stopping{By: by, Why: event.Text(why)}})
}

// ended says in a few words how a worker has ended; what it means is judged later.
func ended(o exitcodes.Outcome) string {
	who := "the worker"
	if o.Rank >= 0 {
		who = fmt.Sprintf("rank %d", o.Rank)
	}
	switch {
	case o.NotStarted != "":
		return who + " could not be started"
	case o.Status.Signal != 0:
		return who + " was ended by " + exitcodes.SignalName(o.Status.Signal)
	}
	return fmt.Sprintf("%s exited with %d", who, o.Status.Code)
}

// leaves tells that this node leaves the job: it was told to, or is not fit for another round.
func (r *Recorder) leaves(at time.Time, effects []node.Effect) {
	why := r.message.Message
	for _, e := range effects {
		if said, ok := e.(node.Log); ok && len(said.Args) > 1 && said.Args[0] == "why" {
			why = fmt.Sprint(said.Args[1])
		} else if ok && said.Level >= slog.LevelError {
			why = said.Text
		}
	}
	r.stops(at, event.ByOutside, why)
	r.emit(event.Event{At: at, Type: event.Leaving, Leave: &event.Leave{Why: event.Text(why)}})
}

// concluded tells which workers have failed by themselves, the cause first.
func (r *Recorder) concluded(at time.Time, c node.Concluded) {
	named := 0
	name := func(i int, f exitcodes.Finding) {
		if named++; named > mostFailed {
			return
		}
		r.emit(event.Event{At: at, Type: event.WorkerFailed, Failed: failed(f, i == c.Cause)})
	}
	for i, f := range c.Findings {
		switch {
		case c.Stops[i] != exitcodes.NotStopped:
			r.ends.Stopped++
		case f.Verdict == exitcodes.Success:
			r.ends.Succeeded++
		default:
			r.ends.Failed++
		}
		if i == c.Cause {
			if f.Said != nil && c.Stops[i] != exitcodes.NotStopped { // it was stopped, and had said before why it fails
				f = *f.Said
			}
			name(i, f)
		}
	}
	for i, f := range c.Findings {
		if i != c.Cause && c.Stops[i] == exitcodes.NotStopped && f.Verdict != exitcodes.Success {
			name(i, f)
		}
	}
}

func failed(f exitcodes.Finding, cause bool) *event.Failed {
	out := &event.Failed{
		Verdict: f.Verdict, Reason: event.Text(f.Reason), Message: event.Text(f.Message),
		Rank: known(f.Rank), LocalRank: known(f.LocalRank), ExitCode: f.ExitCode, At: event.Time(f.At),
		Rule: event.Text(f.Rule), Evidence: event.Text(f.Evidence), Cause: cause,
	}
	if f.Signal != 0 {
		out.Signal = exitcodes.SignalName(f.Signal)
	}
	return out
}

func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// gone tells that nothing of the round is left.
func (r *Recorder) gone(at time.Time, g node.Gone) {
	if !r.active {
		return
	}
	r.tell()
	verdict, reason := g.Outcome.End()
	r.emit(event.Event{At: at, Type: event.RoundEnded, RoundEnd: &event.RoundEnd{
		Verdict: verdict, Reason: event.Text(reason), Workers: r.ends,
	}})
	r.active, r.stopping, r.saving = false, false, false
	if r.step != nil {
		r.before = r.step
	}
}

// end tells once that the run is over: everything is known, and the last output is written out.
func (r *Recorder) end(at time.Time) {
	if r.ended {
		return
	}
	r.ended = true
	m := r.message
	end := &event.End{
		Verdict: m.Verdict, Reason: event.Text(m.Reason), Message: event.Text(m.Message), ExitCode: m.ExitCode,
		Restarts: r.restarts(), RecoverySeconds: m.RecoverySeconds,
		StartedAt: event.Time(m.StartedAt), FinishedAt: event.Time(m.FinishedAt), Hooks: m.Hooks,
	}
	if c := m.RootCause; c != nil {
		cause := *c
		cause.At = event.Time(cause.At)
		cause.Node, cause.Evidence = event.Text(cause.Node), event.Text(cause.Evidence)
		end.RootCause = &cause
	}
	r.emit(event.Event{At: at, Type: event.RunEnded, Step: m.Step, End: end})
}
