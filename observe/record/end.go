package record

import (
	"cmp"
	"time"

	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/supervisor/node"
)

// leaves tells that this node leaves the job: it was told to, or is not fit for another round.
func (r *Recorder) leaves(at time.Time, effects []node.Effect) {
	why := r.message.Message
	for _, e := range effects {
		if e, ok := e.(node.Leave); ok {
			why = cmp.Or(e.Why, e.Sick, why)
		}
	}
	r.stops(at, event.ByOutside, why)
	r.emit(event.Event{At: at, Type: event.Leaving, Leave: &event.Leave{Why: event.Text(why)}})
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
