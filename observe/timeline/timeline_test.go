package timeline

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// told is a timeline, and the events that it is told.
type told struct {
	Timeline
	seq   int64
	round int
}

func (s *told) at(second float64, typ event.Type, change func(*event.Event)) *told {
	s.seq++
	round := s.round
	e := event.Event{
		V: 1, ID: fmt.Sprint("s-", s.seq), Seq: s.seq, Source: "s", Type: typ,
		At: noon.Add(time.Duration(second * float64(time.Second))), Round: &round,
	}
	if typ == event.RunStarted {
		e.Round = nil
	}
	if change != nil {
		change(&e)
	}
	s.Add(e)
	return s
}

func (s *told) step(second float64, n int64) *told {
	return s.at(second, event.Progress, func(e *event.Event) { e.Step = &n })
}

// round runs one, which is stopped two seconds before its end.
func (s *told) run(from, to float64) *told {
	s.at(from, event.RoundBegan, func(e *event.Event) { e.Began = &event.Began{} })
	s.at(from+1, event.RoundRunning, func(e *event.Event) { e.Running = &event.Running{Workers: 1} })
	s.at(to-2, event.RoundStopping,
		func(e *event.Event) { e.Stopping = &event.Stopping{By: event.ByWorker, Why: "why"} })
	return s.at(to, event.RoundEnded, func(e *event.Event) { e.RoundEnd = &event.RoundEnd{} })
}

// TestPicture has the phases of two rounds one after the other, without a gap, and the steps and checkpoints in them.
func TestPicture(t *testing.T) {
	s := &told{}
	s.at(0, event.RunStarted, nil).run(2, 10)
	s.round = 1
	s.at(11, event.RoundBegan, func(e *event.Event) { e.Began = &event.Began{} })
	s.step(12, 5).step(
		17,
		9,
	).at(18, event.CheckpointSaved, func(e *event.Event) { e.Checkpoint = &event.Checkpoint{Step: 8} })
	got, _ := json.Marshal(s.Picture())
	want := `{"startedAt":"2026-01-01T12:00:00Z","spans":[{"phase":"forming","from":0,"to":2},{"phase":"starting","round":0,"from":2,"to":3},` +
		`{"phase":"running","round":0,"from":3,"to":8},{"phase":"stopping","round":0,"from":8,"to":10},` +
		`{"phase":"forming","round":0,"from":10,"to":11},{"phase":"starting","round":1,"from":11,"to":12},` +
		`{"phase":"running","round":1,"from":12}],"steps":[{"at":12,"step":5},{"at":17,"step":9}],"checkpoints":[{"at":18,"step":8}]}`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	s.at(20, event.RunEnded, func(e *event.Event) { e.End = &event.End{} })
	p := s.Picture()
	if last := p.Spans[len(p.Spans)-1]; last.Phase != account.Running || last.To == nil || *last.To != 20 {
		t.Errorf("after the end: %+v", last)
	}
}

// TestBounds: a thousand restarts and a hundred thousand steps take no more than a few.
func TestBounds(t *testing.T) {
	s := &told{}
	s.at(0, event.RunStarted, nil)
	for i := range 1000 {
		s.round = i
		s.run(float64(20*i), float64(20*i+10))
		for j := range 100 {
			s.step(float64(20*i)+float64(j)/20, int64(100*i+j))
		}
		s.at(float64(20*i+9), event.CheckpointSaved,
			func(e *event.Event) { e.Checkpoint = &event.Checkpoint{Step: int64(100 * i)} })
	}
	p := s.Picture()
	if len(p.Spans) > mostSpans || len(p.Steps) > mostPoints || len(p.Checkpoints) > mostMarks || p.Omitted == 0 {
		t.Errorf("%d spans, %d steps, %d checkpoints, %d omitted", len(p.Spans), len(p.Steps), len(p.Checkpoints),
			p.Omitted)
	}
	if p.Steps[0].Step != 0 || p.Steps[len(p.Steps)-1].Step != 99_999 {
		t.Errorf("from %+v to %+v", p.Steps[0], p.Steps[len(p.Steps)-1])
	}
	for i := 1; i < len(p.Spans); i++ {
		if p.Spans[i-1].To == nil || *p.Spans[i-1].To != p.Spans[i].From {
			t.Fatalf("a gap between %+v and %+v", p.Spans[i-1], p.Spans[i])
		}
	}
	before := len(p.Steps)
	s.step(1e6, 1)
	if len(p.Steps) != before {
		t.Error("a picture has changed")
	}
}
