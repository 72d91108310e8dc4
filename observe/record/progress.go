package record

import (
	"time"

	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/supervisor/node"
)

// progressEvery is how often the step is told at most while nothing else happens.
const progressEvery = 5 * time.Second

// tell puts out the step that nobody was told of yet, as of when it was reached.
func (r *Recorder) tell() {
	if r.step == nil || r.told != nil && *r.told == *r.step {
		return
	}
	r.told, r.toldAt = r.step, r.stepAt
	r.emit(event.Event{At: r.stepAt, Type: event.Progress})
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
