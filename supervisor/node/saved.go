package node

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/words"
	"github.com/gangrun/gangrun/rendezvous"
)

// hasServed reports whether a worker that has ended had saved as it was asked to: it has exited with 0 by itself, or
// reported that it had finished the step; what it did after that does not matter. One that has ended after a signal
// may have saved at any step.
func (n *Node) hasServed(w *worker) bool {
	s := n.save
	return w.obeyed || s.agreed && s.step != nil && w.report.Step != nil && *w.report.Step >= *s.step
}

// endedEarly reports whether a worker that was stopped by nothing but the file has failed before it could have saved.
func (n *Node) endedEarly(w *worker) bool {
	return w.told && w.stop == exitcodes.StoppedByGang && w.status != exitcodes.Status{} && !w.signaled && !w.lets &&
		!w.report.Leaving && n.save != nil && !n.save.over && !n.hasServed(w)
}

// leftSaving looks at the end of a worker while a save is under way. If it has not saved, nobody else can any more: the
// ranks train together.
func (n *Node) leftSaving(w *worker) {
	s := n.save
	if s == nil || s.over || !s.agreed && n.request == nil {
		return
	}
	if n.failedAt.IsZero() && s.agreed {
		n.failedAt = w.at // it trains up to here
	}
	if !n.hasServed(w) {
		n.endSave(w.name() + " has ended before")
	}
}

// endSave stops those that still run by a signal.
func (n *Node) endSave(why string) {
	n.save.over = true
	n.log(slog.LevelWarn, "the save that all were to make is given up: telling those that run to stop", "why", why)
	killAt := n.now.Add(n.policy.RestartGrace)
	for i := range n.workers {
		if w := &n.workers[i]; !w.ended {
			n.hurrySave(w, killAt, killAt)
		}
	}
}

// hurrySave sends a worker that was asked to save, and has not, the stop signal now, or, if it is saving right now, when
// it is done.
func (n *Node) hurrySave(w *worker, killAt, saveBy time.Time) {
	if n.request == nil || !w.clock.runs() { // else it has its own time
		w.clock.limit(killAt, saveBy)
	}
	if !w.signaled { // else it has been told
		w.clock.ask(n.now)
	}
}

// lastCalled tells a worker that has not saved in time to stop.
func (n *Node) lastCalled(i int) {
	w := &n.workers[i]
	to := SIGTERM
	if s := n.save; s != nil {
		if s.to != 0 {
			to = s.to
		}
		if !s.over && !w.lets {
			n.log(slog.LevelWarn, "a worker has not saved in time at the step that all agreed on: telling it to stop",
				"worker", w.String(), "step", rendezvous.StopText(s.step), "at", w.place())
		}
	}
	w.signaled = w.signaled || !w.lets
	n.pass(i, to)
}

// noteSave says how the save went that the workers, which are gone, were asked for.
func (n *Node) noteSave() {
	s := n.save
	if s == nil || !s.agreed {
		return
	}
	at := "step " + rendezvous.StopText(s.step)
	if s.step == nil {
		at = "once"
	}
	var missed []string
	late := " in time"
	for i := range n.workers {
		w := &n.workers[i]
		switch {
		case n.hasServed(w):
		case w.signaled:
			missed = append(missed, fmt.Sprintf("%s (%s)", w.name(), w.place()))
		default:
			late = ""
			missed = append(missed, fmt.Sprintf("%s (ended %s)", w.name(), w.place()))
		}
	}
	level := slog.LevelInfo
	n.note = "all ranks here have saved at " + at + ", as agreed"
	who := ""
	if len(missed) > 0 {
		level, who = slog.LevelWarn, words.Few(missed)
		n.note = "asked by " + StopFileVariable + " to save at " + at + ", and not done" + late + ": " + who
	}
	n.log(level, n.note)
	n.do(Serve{rendezvous.Service{Round: n.round(), Looks: true, Answered: true, Served: who == "", Who: who}})
}

// place is how far the worker has come.
func (w *worker) place() string {
	if w.report.Step == nil {
		return "at a step that it does not tell"
	}
	return fmt.Sprintf("at step %d", *w.report.Step)
}

// noted is a message with how the save has gone.
func (n *Node) noted(text string) string {
	if n.note == "" {
		return text
	}
	return text + "; " + n.note
}
