package record

import (
	"slices"
	"time"

	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/supervisor/node"
)

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
	began := &event.Began{Restarts: r.restarts(), Restart: r.restart(b)}
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
