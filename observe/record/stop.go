package record

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/supervisor/node"
)

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
