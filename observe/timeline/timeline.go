// Package timeline keeps, of the events of one gangrun process, what a picture of its run needs: when it was in which
// phase, how its steps have grown, when checkpoints were saved. It is pure, and takes the same memory however long the
// run is.
package timeline

import (
	"slices"
	"time"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
)

// What is kept: a browser has to draw it, and it is sent whenever it has changed.
const (
	mostSpans  = 400
	mostPoints = 400
	mostMarks  = 100
)

// Picture is what there is to draw. Times are seconds since the start, to the millisecond.
type Picture struct {
	StartedAt time.Time `json:"startedAt"`
	Spans     []Span    `json:"spans"` // the oldest first
	// Omitted is how many spans are left out: those before the first.
	Omitted     int     `json:"omitted,omitempty"`
	Steps       []Point `json:"steps"`       // thinned out, the older the more
	Checkpoints []Point `json:"checkpoints"` // the latest
}

// Span is a time in one phase; the last one has no end until the run has.
type Span struct {
	Phase account.Phase `json:"phase"`
	Round *int          `json:"round,omitempty"`
	From  float64       `json:"from"`
	To    *float64      `json:"to,omitempty"`
}

// Point is a step, and when it was told.
type Point struct {
	At   float64 `json:"at"`
	Step int64   `json:"step"`
}

// Timeline adds events up. Its zero value is empty.
type Timeline struct {
	tally   account.Tally // for the phases
	picture Picture
	phase   account.Phase
}

// Add takes the next event.
func (t *Timeline) Add(e event.Event) {
	p := &t.picture
	if p.StartedAt.IsZero() {
		p.StartedAt = e.At
	}
	t.tally.Add(e)
	if phase, _ := t.tally.Phase(); phase != t.phase {
		t.enter(phase, e.At, e.Round)
	}
	switch {
	case e.Type == event.Progress && e.Step != nil:
		p.Steps = append(p.Steps, Point{t.since(e.At), *e.Step})
		if len(p.Steps) > mostPoints {
			p.Steps = thinned(p.Steps)
		}
	case e.Type == event.CheckpointSaved && e.Checkpoint != nil:
		p.Checkpoints = append(p.Checkpoints, Point{t.since(e.At), e.Checkpoint.Step})
		if len(p.Checkpoints) > mostMarks {
			p.Checkpoints = slices.Delete(p.Checkpoints, 0, 1)
		}
	}
}

func (t *Timeline) enter(phase account.Phase, at time.Time, round *int) {
	t.phase = phase
	p := &t.picture
	from := t.since(at)
	if n := len(p.Spans); n > 0 {
		from = max(from, p.Spans[n-1].From) // the clock was set
		p.Spans[n-1].To = &from
	}
	if phase == account.Ended {
		return
	}
	p.Spans = append(p.Spans, Span{Phase: phase, Round: round, From: from})
	if len(p.Spans) > mostSpans {
		p.Spans = slices.Delete(p.Spans, 0, 1)
		p.Omitted++
	}
}

// since is a moment in seconds since the start. Where the clock was set back it is the start.
func (t *Timeline) since(at time.Time) float64 {
	return account.Seconds(max(0, at.Sub(t.picture.StartedAt)))
}

// thinned leaves out every second one of the older half, but for the first.
func thinned(points []Point) []Point {
	thin := points[:1]
	for i := 2; i < len(points)/2; i += 2 {
		thin = append(thin, points[i])
	}
	return append(thin, points[len(points)/2:]...)
}

// Picture is what there is to draw now; it does not change any more.
func (t *Timeline) Picture() Picture {
	p := t.picture
	p.Spans, p.Steps, p.Checkpoints = copied(p.Spans), copied(p.Steps), copied(p.Checkpoints)
	return p
}

func copied[T any](list []T) []T { return append(make([]T, 0, len(list)), list...) }
